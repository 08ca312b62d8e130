//! Maximum costs of calls in rules, in kube-apiserver's own units, by which it refuses rules.

use super::cel_types::Type;

/// Cost per character of a traversed text.
const TRAVERSAL: f64 = 0.1;
/// Cost per character of a regular expression.
const PATTERN: f64 = 0.25;
/// The length of the longest pattern behind a named format.
const LONGEST_FORMAT: f64 = 128.0;
/// The size of an address in bytes.
const ADDRESS: u64 = 16;
/// Kinds that are compared in one step.
const KINDS: [&str; 5] = ["ip", "cidr", "quantity", "semver", "url"];
/// The cost of creating a list.
pub(super) const NEW_LIST: u64 = 10;
/// The cost of creating a map.
pub(super) const NEW_MAP: u64 = 30;

/// The cost of a call without its target and arguments, and the maximum size of its result, if known.
pub(super) fn of_call(name: &str, target: Option<&Type>, arguments: &[Type]) -> (u64, Option<u64>) {
    let own = target.map_or(u64::MAX, Type::size);
    let size = |i: usize| arguments.get(i).map_or(u64::MAX, Type::size);
    let is = |i: usize, names: &[&str]| arguments.get(i).is_some_and(|argument| argument.may_be(names));
    match name {
        "startsWith" | "endsWith" => (traversal(size(0)), None),
        "contains" => (traversal(own).saturating_mul(traversal(size(0))), None),
        "matches" if target.is_some() => (search(own, size(0)), None),
        "find" | "findAll" => (search(own, size(0)), Some(own)),
        "lowerAscii" | "upperAscii" | "substring" | "trim" => (traversal(own), Some(own)),
        // In the worst case the empty text is replaced, which occurs around each character.
        "replace" => {
            let longest = own.saturating_add(1).saturating_mul(size(1)).saturating_add(own);
            (scaled(own, 2.0 * TRAVERSAL), Some(longest))
        }
        "split" => (scaled(own, 2.0 * TRAVERSAL), Some(own)),
        "join" => {
            let item = target.and_then(Type::item).map_or(u64::MAX, Type::size);
            let between = if arguments.is_empty() { 0 } else { size(0) };
            let joined = own
                .saturating_mul(item)
                .saturating_add(between.saturating_mul(own.saturating_sub(1)));
            (traversal(joined), Some(joined))
        }
        "format" => (traversal(own), None),
        "strings.quote" => (
            traversal(size(0)),
            Some(size(0).saturating_mul(2).saturating_add(2)),
        ),
        "bytes" if is(0, &["string"]) => (traversal(size(0)), Some(size(0).saturating_mul(4))),
        "string" if is(0, &["bytes"]) => (traversal(size(0)), Some(size(0))),
        "url" => (traversal(size(0)), Some(size(0))),
        "cidr" | "isIP" | "isCIDR" | "quantity" | "isQuantity" | "semver" | "isSemver" => {
            (traversal(size(0)), None)
        }
        "ip" if target.is_none() => (traversal(size(0)), None),
        "ip.isCanonical" => (scaled(size(0), 2.0 * TRAVERSAL), None),
        "containsIP" | "containsCIDR" => {
            let masked = if name == "containsCIDR" {
                traversal(ADDRESS) + 1
            } else {
                0
            };
            let read = if is(0, &["string"]) { traversal(size(0)) } else { 0 };
            (
                traversal(2 * ADDRESS).saturating_add(masked).saturating_add(read),
                None,
            )
        }
        "validate" => (scaled(traversal(size(0)), LONGEST_FORMAT * PATTERN), None),
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => match target.and_then(Type::item) {
            None => (traversal(own), None),
            Some(item) if item.may_be(&["string", "bytes"]) => {
                (own.saturating_mul(traversal(item.size()).saturating_add(1)), None)
            }
            Some(_) => (own, None),
        },
        "sets.contains" | "sets.intersects" => (size(0).saturating_mul(size(1)).saturating_add(1), None),
        "sets.equivalent" => {
            let pairs = size(0).saturating_mul(size(1));
            (pairs.saturating_mul(2).saturating_add(1), None)
        }
        "distinct" | "sort" => {
            let pairs = own.saturating_mul(own).saturating_mul(2);
            (pairs.saturating_add(NEW_LIST + 1), Some(own))
        }
        "slice" | "reverse" | "flatten" => (own.saturating_add(NEW_LIST + 1), Some(own)),
        "lists.range" => (u64::MAX, None),
        "@in" if arguments.get(1).and_then(Type::item).is_some() => (size(1), None),
        "_==_" | "_!=_"
            if arguments
                .iter()
                .any(|given| KINDS.iter().any(|kind| given.is(kind))) =>
        {
            (1, None)
        }
        "_==_" | "_!=_" => (traversal(size(0).min(size(1))), None),
        "_<_" | "_<=_" | "_>_" | "_>=_" if is(0, &["string", "bytes"]) && is(1, &["string", "bytes"]) => {
            (traversal(size(0).min(size(1))), None)
        }
        "_+_" => {
            let sum = size(0).saturating_add(size(1));
            if arguments.iter().any(|argument| argument.item().is_some()) {
                (1, Some(sum))
            } else if is(0, &["string", "bytes"]) && is(1, &["string", "bytes"]) {
                (traversal(sum), Some(sum))
            } else {
                (1, None)
            }
        }
        _ => (1, None),
    }
}

/// Adds up costs.
pub(super) fn sum(costs: impl IntoIterator<Item = u64>) -> u64 {
    costs.into_iter().fold(0, u64::saturating_add)
}

fn traversal(characters: u64) -> u64 {
    scaled(characters, TRAVERSAL)
}

fn search(text: u64, pattern: u64) -> u64 {
    traversal(text.saturating_add(1)).saturating_mul(scaled(pattern, PATTERN))
}

fn scaled(size: u64, factor: f64) -> u64 {
    (size as f64 * factor).ceil() as u64
}
