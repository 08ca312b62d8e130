use envtest::{Assets, Envtest, EnvtestOptions, EnvtestUser};
use k8s_openapi::{
    api::core::v1::Secret,
    serde_json::{self, Value},
};
use kube::{Api, Client, api::ListParams};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = EnvtestOptions {
        users: vec![EnvtestUser::without_rights("ann")],
        ..EnvtestOptions::default()
    };
    let server = Envtest::start(&Assets::find(None)?, options).await?;

    let secrets: Api<Secret> = Api::default_namespaced(Client::try_from(server.config("ann"))?);
    let refused = secrets.list(&ListParams::default()).await;
    assert!(matches!(refused, Err(kube::Error::Api(status)) if status.code == 403));

    // A JSON object on each line.
    let log = std::fs::read_to_string(server.audit_log())?;
    let line = log.lines().find(|line| line.contains("\"ann\""));
    let event: Value = serde_json::from_str(line.expect("an event"))?;
    assert_eq!(event["verb"], "list");
    assert_eq!(event["objectRef"]["resource"], "secrets");
    assert_eq!(event["responseStatus"]["code"], 403);
    Ok(())
}
