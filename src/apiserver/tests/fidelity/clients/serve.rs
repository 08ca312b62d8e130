use apiserver::{ApiServer, Clock, Loopback};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let loopback = Loopback::bind("test", 0).await?;
    std::fs::write("kubeconfig", loopback.endpoint().kubeconfig_as(ApiServer::ADMIN))?;
    println!("listening on {}", loopback.endpoint().server());
    loopback.serve(ApiServer::new(Clock::system())).await;
    Ok(())
}
