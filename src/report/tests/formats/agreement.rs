//! Inventories and waivers, told alike in all formats.

use std::{fs, path::Path};

use evidence::{Digester, read_input};

use crate::support::{
    agreement::{agree, in_all_ways},
    world::World,
};

#[test]
fn inventories_are_told_alike_in_all_formats() {
    let root = Path::new(crate::ROOT).join("fixtures");
    let mut tried = 0;
    for folder in ["topologies", "managers"] {
        for entry in fs::read_dir(root.join(folder)).expect("fixtures") {
            let path = entry.expect("a fixture").path();
            // Some only say what is expected of another dump.
            if let Ok(input) = read_input(&path, &Digester::new([7; 32])) {
                in_all_ways(&path.display().to_string(), &input.evidence);
                tried += 1;
            }
        }
    }
    assert!(tried >= 10, "{tried} inventories");
}

#[test]
fn waivers_and_an_early_end_are_told_alike_in_all_formats() {
    World::violating().report(|report| agree("waived", report));
}
