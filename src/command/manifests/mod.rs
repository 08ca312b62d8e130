//! Prints what others apply or check files with: CRDs, RBAC roles, admission policies, JSON Schemas.

pub mod crd;
pub mod policies;
pub mod rbac;
pub mod schema;
