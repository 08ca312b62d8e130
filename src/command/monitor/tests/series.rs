//! Labels and series over long times.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_credential_in_a_managers_name_is_shown_nowhere() {
    let world = World::new().await;
    let token = "eyJhbGciOiJSUzI1NiJ9.eyJDQU5BUlkiOiJDQU5BUlkifQ.CANARYCANARYCANARYCANARY";
    world.place("a", token);
    let monitor = world.monitor();
    let shared = Arc::clone(&monitor.shared);
    let seen = async {
        after(180).await;
        for path in ["/metrics", "/"] {
            let (status, text) = get(&shared, path).await;
            assert_eq!(status, StatusCode::OK);
            assert!(text.contains("default"), "{path}");
            assert!(!text.contains("CANARY"), "{path} shows it");
        }
    };
    world.run(monitor, seen).await;
}

#[tokio::test(start_paused = true)]
async fn a_manager_that_is_gone_has_no_series_for_ever() {
    let world = World::new().await;
    let mut monitor = world.monitor();
    monitor.settings.window = Duration::from_secs(600);
    let shared = Arc::clone(&monitor.shared);
    let writes = async || {
        let labels = "cluster_manager=\"m\",inventory_namespace=\"default\"";
        value(&shared, &format!("status_writes_total{{{labels}}}")).await
    };
    let seen = async {
        after(5).await;
        world.profile("a", "m").await;
        world.report("a", "v1").await;
        after(5).await;
        assert_eq!(writes().await, Some(1.0));
        world
            .profiles()
            .delete("a", &Default::default())
            .await
            .expect("deleted");
        after(500).await;
        assert_eq!(writes().await, Some(1.0), "rates need it for a while");
        after(200).await;
        assert_eq!(writes().await, None);
        assert_eq!(value(&shared, "status_writes_dropped_total").await, Some(0.0));
    };
    world.run(monitor, seen).await;
}
