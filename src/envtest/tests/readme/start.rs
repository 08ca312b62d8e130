use envtest::{Assets, Envtest, EnvtestOptions};
use k8s_openapi::{
    api::core::v1::ConfigMap,
    serde_json::{from_value, json},
};
use kube::{
    Client,
    api::{Api, PostParams},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Envtest::start(&Assets::find(None)?, EnvtestOptions::default()).await?;
    let maps: Api<ConfigMap> = Api::default_namespaced(Client::try_from(server.config("admin"))?);

    let map = from_value(json!({"metadata": {"name": "settings"}, "data": {"mode": "slow"}}))?;
    maps.create(&PostParams::default(), &map).await?;
    assert_eq!(maps.get("settings").await?.data.expect("data")["mode"], "slow");

    server.stop().await?;
    Ok(())
}
