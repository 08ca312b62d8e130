//! What the page calls: it asks for room, writes the file and the order there, has them judged, and reads the answer.
//!
//! Nothing here reads from an address that the page gives; a page that writes elsewhere harms its own module only.

use std::cell::RefCell;

use super::{Answer, judge_file};

#[derive(Default)]
struct Exchange {
    file: Vec<u8>,
    order: Vec<u8>,
    answer: Vec<u8>,
}

thread_local! {
    static EXCHANGE: RefCell<Exchange> = RefCell::default();
}

/// Makes room for a file of that many bytes.
#[expect(unsafe_code, reason = "the page finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn room_for_file(bytes: usize) -> *mut u8 {
    EXCHANGE.with_borrow_mut(|exchange| room(&mut exchange.file, bytes))
}

/// Makes room for an [`Order`](super::Order) of that many bytes, as JSON.
#[expect(unsafe_code, reason = "the page finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn room_for_order(bytes: usize) -> *mut u8 {
    EXCHANGE.with_borrow_mut(|exchange| room(&mut exchange.order, bytes))
}

/// Judges the file, forgets it, and returns how many bytes the [`Answer`] has, as JSON.
#[expect(unsafe_code, reason = "the page finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn judge() -> usize {
    EXCHANGE.with_borrow_mut(|exchange| {
        let file = std::mem::take(&mut exchange.file);
        let answer = match serde_json::from_slice(&exchange.order) {
            Ok(order) => judge_file(file, &order),
            Err(error) => Answer::Refused(format!("the page's order is not understood: {error}")),
        };
        exchange.answer = serde_json::to_vec(&answer).expect("an answer is plain data");
        exchange.answer.len()
    })
}

/// Where the answer is, until the next call.
#[expect(unsafe_code, reason = "the page finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    EXCHANGE.with_borrow(|exchange| exchange.answer.as_ptr())
}

fn room(place: &mut Vec<u8>, bytes: usize) -> *mut u8 {
    *place = vec![0; bytes];
    place.as_mut_ptr()
}
