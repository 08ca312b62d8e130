//! The static users of the API server, each with a token drawn anew at every start.

use std::fmt::Write as _;

use ring::rand::{SecureRandom as _, SystemRandom};

use super::EnvtestError;

const MASTERS: &str = "system:masters";

/// Somebody whom the API server knows by a token.
struct User {
    name: &'static str,
    groups: Vec<String>,
    token: String,
}

/// All of them. Deliberately without `Debug`: it holds tokens.
pub(super) struct Users(Vec<User>);

impl Users {
    /// `admin` sets the stage, `conformance` runs the suite, `reference-manager` plays the implementation, and `viewer`
    /// may do nothing until somebody binds a role to it.
    pub fn generate(conformance_groups: &[String]) -> Result<Self, EnvtestError> {
        let masters = vec![MASTERS.to_owned()];
        let users = [
            ("admin", masters.clone()),
            ("conformance", conformance_groups.to_vec()),
            ("reference-manager", masters),
            ("viewer", Vec::new()),
        ];
        let random = SystemRandom::new();
        let with_token = |(name, groups)| {
            Ok(User {
                name,
                groups,
                token: random_token(&random)?,
            })
        };
        users
            .into_iter()
            .map(with_token)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// The bearer token of the user `name`.
    ///
    /// # Panics
    /// When there is no such user: the names are fixed, so that is a slip in the caller's code.
    pub fn token(&self, name: &str) -> &str {
        match self.0.iter().find(|user| user.name == name) {
            Some(user) => &user.token,
            None => {
                let known: Vec<&str> = self.0.iter().map(|user| user.name).collect();
                panic!(
                    "no user {name:?} on the envtest hub; there are {}",
                    known.join(", ")
                )
            }
        }
    }

    /// The users as kube-apiserver's `--token-auth-file` wants them: token, name, uid, "group,group". An empty last
    /// column would be a group without a name.
    pub fn token_file(&self) -> String {
        let mut lines = String::new();
        for User { name, groups, token } in &self.0 {
            let groups = match groups.join(",").replace('"', "\"\"") {
                groups if groups.is_empty() => groups,
                groups => format!(",\"{groups}\""),
            };
            writeln!(lines, "{token},{name},{name}{groups}").expect("a string takes all that is written");
        }
        lines
    }
}

fn random_token(random: &SystemRandom) -> Result<String, EnvtestError> {
    let mut bytes = [0_u8; 32];
    random.fill(&mut bytes).map_err(|_| EnvtestError::Randomness)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
