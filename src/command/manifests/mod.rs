//! Prints what others apply or check files with: CRDs, RBAC roles, JSON Schemas.

pub mod crd;
pub mod rbac;
pub mod schema;
