//! Whether the run can read what a consumer makes.

use std::time::Duration;

use collect::connect::Connection;
use tokio::time::timeout;

use super::check::Check;
use crate::command::flags::driver::Driving;

const OUTPUTS: &str = "evidence/outputs";

/// Checks what the driver file says of its consumer.
pub async fn of_consumer(hub: &Connection, driving: Option<&Driving>, limit: Duration) -> Vec<Check> {
    let Some(Driving::File { file, .. }) = driving else {
        return Vec::new();
    };
    let Some(consumer) = &file.consumer else {
        return Vec::new();
    };
    let mut checks = Vec::new();
    for place in &consumer.outputs {
        let reader = place.reader().name();
        let read = match timeout(limit, place.check(hub)).await {
            Ok(read) => read,
            Err(_) => Err(format!(
                "the outputs of {reader} did not come within {} s",
                limit.as_secs()
            )),
        };
        checks.push(match read {
            Ok(()) => Check::ok(OUTPUTS, &format!("what the consumer makes can be read: {reader}")),
            Err(why) => Check::warn(
                OUTPUTS,
                &why,
                "start the consumer first, and grant what `clusterprofile-conformance rbac --role consumer --driver FILE` prints",
            ),
        });
    }
    checks
}
