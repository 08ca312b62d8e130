//! The lab's API server for other programs, over TLS.

use std::sync::Arc;

use apiserver::{ApiServer, Endpoint, Loopback};
use collect::clock::Clock;
use kube::Client;
use lab::{
    hub::Hub,
    manager::{Manager, hub_definitions},
};

use crate::command::{Done, Folder, command, done, in_background};

/// A served hub, and a folder with the kubeconfig of its user `conformance`.
pub struct ServedLab {
    pub hub: Hub,
    pub folder: Arc<Folder>,
    pub endpoint: Endpoint,
}

impl ServedLab {
    /// Needs a runtime with several threads, in real time.
    pub async fn new(hub: Hub) -> Self {
        let loopback = Loopback::bind("lab", 0).await.expect("a port");
        let endpoint = loopback.endpoint().clone();
        tokio::spawn(loopback.serve(hub.as_lab().expect("the lab").clone()));
        let folder = Arc::new(Folder::new());
        folder.write("kubeconfig", endpoint.kubeconfig_as("conformance"));
        Self {
            hub,
            folder,
            endpoint,
        }
    }

    /// A hub with the first objects of the reference manager, and the manager.
    pub async fn with_manager() -> (Self, Manager, Client) {
        let clock = Clock::system();
        let hub = Hub::lab_with(clock, &hub_definitions(&[])).await.expect("a hub");
        let client = hub.client_as(Manager::NAME, Manager::NAME).expect("a client");
        let mut manager = Manager::new(Vec::new(), clock);
        manager.set_up(&client).await.expect("it starts");
        (Self::new(hub).await, manager, client)
    }

    pub fn server(&self) -> &ApiServer {
        self.hub.as_lab().expect("the lab")
    }

    /// Calls the command as a user of the hub, with 80 columns.
    pub async fn call(&self, user: &str, line: &str) -> Done {
        let kubeconfig = self.folder.write(user, self.endpoint.kubeconfig_as(user));
        let (subcommand, flags) = line.split_once(' ').unwrap_or((line, ""));
        let line = format!("{subcommand} --kubeconfig {kubeconfig} {flags}");
        in_background(move || done(command(line).env("COLUMNS", "80"))).await
    }
}
