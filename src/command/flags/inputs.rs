//! The files that flags name to be read.

use std::path::{Path, PathBuf};

use super::{claim::ClaimFlags, config::ConfigFlags, driver::DriverFlags, target::Target};

impl Target {
    /// The files that a run reads, `others` among them: no report may replace one.
    pub fn inputs<'a>(
        &'a self,
        driver: &'a DriverFlags,
        claim: &'a ClaimFlags,
        config: &'a ConfigFlags,
        others: impl Iterator<Item = &'a PathBuf>,
    ) -> impl Iterator<Item = &'a Path> {
        self.kubeconfig()
            .into_iter()
            .chain(driver.file())
            .chain(claim.waivers.as_deref())
            .chain(config.file())
            .chain(others.map(PathBuf::as_path))
    }

    /// The kubeconfig file that the user named.
    fn kubeconfig(&self) -> Option<&Path> {
        match self {
            Target::Kubeconfig(options) => options.path.as_deref(),
            Target::Lab(_) | Target::Envtest(_) | Target::K3s(_) => None,
        }
    }
}
