//! A file is read in pieces: where one ends makes no difference.

use super::{super::source::PIECE, *};

#[test]
fn byte_order_marks_at_the_end_of_a_piece_do_not_end_the_file() {
    for count in 1..8 {
        let begin = json_profile("a").to_string();
        let marks = "\u{FEFF}".repeat(count);
        let padding = " ".repeat(PIECE - begin.len() - marks.len() - 1);
        let dump = format!("{begin}{padding}\n{marks}{}", json_profile("b"));
        assert_eq!(names(&read(dump).expect("a dump")), ["a", "b"], "{count}");
    }
}

#[test]
fn numbers_may_begin_in_one_piece_and_end_in_the_next() {
    for number in ["-17", "1.5", "1e-5", "100"] {
        for before in PIECE - 8..PIECE {
            let begin = r#"[{"apiVersion":"v1","kind":"Pod","spec":{"n":"#;
            let padding = " ".repeat(before - begin.len());
            let list = format!("{begin}{padding}{number}}}}},\n{}]", json_profile("a"));
            assert_eq!(
                names(&read(list).expect("a dump")),
                ["a"],
                "{number} after {before} bytes"
            );
        }
    }
}
