//! Objects that fit no schema, from a dump, an evidence file and a hub: none stops a run, each is reported, and the good
//! neighbour is judged as if it were alone.

mod hostile_inputs;
