//! The API server's static users, each with a token drawn again at every start.

use std::collections::BTreeSet;

use ring::rand::{SecureRandom as _, SystemRandom};

/// The user that every server has.
pub(crate) const ADMIN: &str = "admin";
/// The group that may do everything.
const MASTERS: &str = "system:masters";

/// A user that the API server knows by a bearer token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name, which RBAC and the audit log use.
    pub name: String,
    /// The groups; none has a comma in its name. A user without any may do nothing until a role is bound to it.
    pub groups: Vec<String>,
}

impl User {
    /// A user in these groups.
    pub fn new(name: impl Into<String>, groups: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            name: name.into(),
            groups: groups.into_iter().map(Into::into).collect(),
        }
    }

    /// A user who may do everything: a member of `system:masters`.
    pub fn admin(name: impl Into<String>) -> Self {
        Self::new(name, [MASTERS])
    }

    /// A user who may do nothing until a role is bound to it.
    pub fn without_rights(name: impl Into<String>) -> Self {
        Self::new(name, [] as [String; 0])
    }
}

/// Users with their tokens. Deliberately without `Debug`.
pub(crate) struct Users(Vec<(User, String)>);

impl Users {
    /// Draws tokens for `admin` and for these users.
    pub fn generate(others: &[User]) -> Self {
        let admin = User::admin(ADMIN);
        let users = std::iter::once(&admin).chain(others);
        let mut names = BTreeSet::new();
        for user in users.clone() {
            assert!(
                !user.name.is_empty() && names.insert(&user.name),
                "user {:?} has no name, or that of another",
                user.name
            );
            // A comma separates groups in the file.
            let is_group = |group: &String| !group.is_empty() && !group.contains(',');
            assert!(
                user.groups.iter().all(is_group),
                "user {:?} has an invalid group",
                user.name
            );
        }
        Self(users.map(|user| (user.clone(), random_token())).collect())
    }

    /// The bearer token of the user `name`.
    ///
    /// # Panics
    /// When there is no such user: the caller named them all, so this is a mistake in its code.
    pub fn token(&self, name: &str) -> &str {
        let user = self.0.iter().find(|(user, _)| user.name == name);
        let (_, token) = user.unwrap_or_else(|| panic!("the API server has no user {name:?}"));
        token
    }

    /// The users in the format of kube-apiserver's `--token-auth-file`: token, name, uid, "group,group". An empty last
    /// column would be a group without a name.
    pub fn token_file(&self) -> String {
        let line = |(user, token): &(User, String)| {
            let name = quoted(&user.name);
            let groups = match user.groups.as_slice() {
                [] => String::new(),
                groups => format!(",{}", quoted(&groups.join(","))),
            };
            format!("{token},{name},{name}{groups}\n")
        };
        self.0.iter().map(line).collect()
    }
}

/// A field of a CSV file.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

fn random_token() -> String {
    let mut bytes = [0_u8; 32];
    let drawn = SystemRandom::new().fill(&mut bytes);
    drawn.expect("the system gives random bytes");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_file_has_every_user() {
        let users = Users::generate(&[
            User::new("system:node:a", ["system:nodes", "the \"second\""]),
            User::without_rights("viewer"),
        ]);
        let [admin, node, viewer] = ["admin", "system:node:a", "viewer"].map(|name| users.token(name));
        let expected = [
            format!("{admin},\"admin\",\"admin\",\"system:masters\"\n"),
            format!("{node},\"system:node:a\",\"system:node:a\",\"system:nodes,the \"\"second\"\"\"\n"),
            format!("{viewer},\"viewer\",\"viewer\"\n"),
        ];
        assert_eq!(users.token_file(), expected.concat());
    }

    #[test]
    #[should_panic(expected = "has an invalid group")]
    fn a_group_with_a_comma_is_refused() {
        Users::generate(&[User::new("a", ["b,system:masters"])]);
    }

    #[test]
    #[should_panic(expected = "or that of another")]
    fn two_users_of_one_name_are_refused() {
        Users::generate(&[User::without_rights("a"), User::admin("a")]);
    }
}
