//! Describes the container.

use ring::rand::{SecureRandom as _, SystemRandom};
use testcontainers::{
    ContainerRequest, CopyTargetOptions, GenericImage, ImageExt as _,
    core::{CgroupnsMode, IntoContainerPort as _, Mount},
};

/// The container's image.
pub const IMAGE: &str = "rancher/k3s:v1.36.4-k3s1";
/// The label of every container that the suite starts.
pub(super) const LABEL: &str = "clusterprofile-conformance.hub";
/// The port of the API server in the container.
pub(super) const PORT: u16 = 6443;
/// Where K3s writes the administrator's kubeconfig.
pub(super) const KUBECONFIG: &str = "/etc/rancher/k3s/k3s.yaml";
/// Where its API server writes the audit log.
pub(super) const AUDIT_LOG: &str = "/var/log/audit.log";
/// Where it finds the audit policy.
const POLICY: &str = "/etc/audit-policy.yaml";
/// The audit policy.
const AUDIT_POLICY: &str = include_str!("../audit-policy.yaml");

/// A unique name, by which a container that never became ready is found again.
pub(super) fn unique_name() -> String {
    let mut bytes = [0_u8; 8];
    // Without randomness, the engine refuses the second container of that name.
    let _ = SystemRandom::new().fill(&mut bytes);
    let suffix: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("clusterprofile-conformance-k3s-{suffix}")
}

/// K3s with one node, without ingress, load balancers, metrics and storage. It keeps controllers and DNS, which installed
/// managers need.
pub(super) fn container(name: &str) -> ContainerRequest<GenericImage> {
    let (image, tag) = IMAGE.split_once(':').unwrap_or((IMAGE, "latest"));
    GenericImage::new(image, tag)
        .with_exposed_port(PORT.tcp())
        .with_container_name(name)
        .with_label(LABEL, "k3s")
        // The kubelet starts containers of its own, in control groups that it creates.
        .with_privileged(true)
        .with_cgroupns_mode(CgroupnsMode::Host)
        .with_mount(Mount::tmpfs_mount("/run"))
        .with_mount(Mount::tmpfs_mount("/var/run"))
        .with_copy_to(
            CopyTargetOptions::new(POLICY).with_mode(0o444),
            AUDIT_POLICY.as_bytes().to_vec(),
        )
        .with_cmd([
            "server".to_owned(),
            "--disable=traefik,servicelb,metrics-server,local-storage".to_owned(),
            format!("--kube-apiserver-arg=audit-policy-file={POLICY}"),
            format!("--kube-apiserver-arg=audit-log-path={AUDIT_LOG}"),
            // In MiB: the log is one file, however long the run.
            "--kube-apiserver-arg=audit-log-maxsize=100000".to_owned(),
        ])
}
