//! Which steps of an object are its producer's, where a rule need not prove it.
