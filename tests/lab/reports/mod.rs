//! Reports that take the binary: what it prints, the files that it leaves, and what its lab is reported to be like.

mod agreement;
mod files;
mod printed;
