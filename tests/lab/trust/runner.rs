//! The runner's own credentials, in its kubeconfig and from its credential plugin.

use std::thread;

use super::call;
use crate::command::{Folder, kubeconfig, table};

/// Users of the runner's kubeconfig, each a line of YAML. The key itself may be in the place of its path, in PEM and in DER.
const RUNNER_USERS: &str = r#"
token: CANARY-token
token: "CANARY
token: [CANARY]
token: CANARY, token: CANARY
token: &CANARY CANARY, password: *CANARIES
token: "CANARY\n"
username: n, password: "CANARY\u0001"
tokenFile: /CANARY
client-certificate: /none, client-key: CANARY
client-certificate-data: YQ==, client-key: LS0tLS1CRUdJTiBCANARY
client-certificate-data: YQ==, client-key: MIICANARYCANARYCANARYCANARYCANARYCANARYCANARYCANARYCANARYCANARYCANARYCANARYCANARY
client-certificate-data: YQ==, client-key-data: CANARY!
client-certificate-data: YQ==, client-key-data: Q0FOQVJZ
auth-provider: {name: oidc, config: {id-token: CANARY, refresh-token: CANARY}}
auth-provider: {name: gcp, config: {cmd-path: CANARY, cmd-args: CANARY}}
"#;
/// Scripts of its credential plugin.
const RUNNER_PLUGINS: &str = r#"
echo CANARY; exit 3
echo CANARY
echo {\"CANARY\": [CANARY]}
echo "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"CANARY-exec\"}}"
echo "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"CANARY\\u0001\"}}"
"#;
/// Clusters of it.
const RUNNER_CLUSTERS: &str = "
server: 'https://u:CANARY@127.0.0.1:1'
server: 'https://u:CANARY@ 127.0.0.1:1'
server: 'https://127.0.0.1:1', proxy-url: 'ftp://u:CANARY@p'
server: 'https://127.0.0.1:1', proxy-url: 'http://u:CANARY@127.0.0.1:1'
server: 'https://127.0.0.1:1', proxy-url: 'socks5://u:CANARY@127.0.0.1:1'
server: 'https://127.0.0.1:1', proxy-url: 'u:CANARY@ p'
server: 'https://127.0.0.1:1', certificate-authority-data: CANARY!
";

#[test]
fn no_secret_of_the_runner_gets_out() {
    let folder = Folder::new();
    let lines = |text: &'static str| table(text).map(|row| row[0]);
    let server = "server: 'https://127.0.0.1:1'";
    let users = lines(RUNNER_USERS).map(|user| kubeconfig(server, user));
    let plugins = lines(RUNNER_PLUGINS).map(|script| {
        let plugin = format!(
            "exec: {{apiVersion: client.authentication.k8s.io/v1, command: sh, args: ['-c', '{script}', CANARY-arg], \
             env: [{{name: FIRST, value: CANARY-env}}, {{name: PASSWORD, value: 'CANARY env'}}], interactiveMode: Never}}"
        );
        kubeconfig(server, &plugin)
    });
    let clusters = lines(RUNNER_CLUSTERS).map(|cluster| kubeconfig(cluster, "token: CANARY-token"));
    let kubeconfigs = users.chain(plugins).chain(clusters);
    // In parallel: a run waits before it tries again.
    thread::scope(|scope| {
        for (number, kubeconfig) in kubeconfigs.enumerate() {
            let path = folder.write(&format!("kubeconfig-{number}"), &kubeconfig);
            scope.spawn(move || assert_no_secret_of(&kubeconfig, &path));
        }
    });
}

fn assert_no_secret_of(kubeconfig: &str, path: &str) {
    let left = call(format!("run --kubeconfig {path} --observe 0s"));
    // A file that is not a kubeconfig is bad usage.
    let is_parsed = !left.printed().contains("not a valid kubeconfig");
    let code = if is_parsed { 4 } else { 2 };
    assert_eq!(left.code, Some(code), "{kubeconfig}: {}", left.printed());
    let printed = left.printed();
    let errors = printed.lines().filter(|line| line.starts_with("error: "));
    assert_eq!(errors.count(), 1, "{printed}");
    left.is_clean(kubeconfig);
    let left = call(format!("doctor --kubeconfig {path}"));
    assert_eq!(left.code, Some(code), "{kubeconfig}: {}", left.printed());
    left.is_clean(&format!("the doctor and {kubeconfig}"));
}
