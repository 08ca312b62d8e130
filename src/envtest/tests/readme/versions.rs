use envtest::{Assets, Envtest, EnvtestOptions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let versions = std::env::args()
        .nth(1)
        .ok_or("name a folder with one folder of programs for each version")?;
    for folder in std::fs::read_dir(versions)? {
        let assets = Assets::in_folder(&folder?.path())?;
        let server = Envtest::start(&assets, EnvtestOptions::default()).await?;
        println!("{} is ready at {}", server.server_version(), server.url());
        server.stop().await?;
    }
    Ok(())
}
