//! The functions that rules may call, from the table `cel_functions.txt`.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, LazyLock},
};

use super::cel_types::{Form, Type};

/// One overload of a function.
#[derive(Debug)]
pub(super) struct Signature {
    target: Option<Type>,
    arguments: Vec<Type>,
    result: Type,
}

/// The overloads of each function, by its name.
pub(super) static FUNCTIONS: LazyLock<HashMap<&'static str, Vec<Signature>>> = LazyLock::new(|| {
    let mut functions: HashMap<_, Vec<_>> = HashMap::new();
    for line in include_str!("cel_functions.txt").lines() {
        let Some((names, signature)) = line.split_once("  ").filter(|_| !line.starts_with('#')) else {
            continue;
        };
        for name in names.split(' ') {
            functions
                .entry(name)
                .or_default()
                .extend(Signature::read(signature.trim()));
        }
    }
    functions
});

impl Signature {
    fn read(line: &'static str) -> Option<Self> {
        let (call, result) = line.split_once(" -> ")?;
        let (target, arguments) = match call.split_once(".(") {
            Some((target, arguments)) => (Some(read_type(target)), arguments),
            None => (None, call.strip_prefix('(')?),
        };
        let arguments = arguments.strip_suffix(')')?;
        Some(Self {
            target,
            arguments: at_commas(arguments).into_iter().map(read_type).collect(),
            result: read_type(result),
        })
    }

    /// The result type of a call, if the arguments match.
    pub(super) fn applied(&self, target: Option<&Type>, arguments: &[Type]) -> Option<Type> {
        let mut open = BTreeMap::new();
        let of_target = match (&self.target, target) {
            (Some(asked), Some(given)) => asked.takes(given, &mut open),
            (None, None) => true,
            _ => false,
        };
        let mut pairs = self.arguments.iter().zip(arguments);
        let fits = of_target
            && self.arguments.len() == arguments.len()
            && pairs.all(|(asked, given)| asked.takes(given, &mut open));
        fits.then(|| self.result.settled(&open))
    }
}

fn read_type(text: &'static str) -> Type {
    let within = |of: &str| text.strip_prefix(of)?.strip_suffix(')');
    if let Some(item) = within("list(") {
        return Form::List(Arc::new(read_type(item))).into();
    }
    if let Some([key, value]) = within("map(").map(at_commas).as_deref() {
        return Form::Map(Arc::new(read_type(key)), Arc::new(read_type(value))).into();
    }
    match text {
        "dyn" => Form::Dyn.into(),
        "A" => Form::Open('A').into(),
        "B" => Form::Open('B').into(),
        name => Type::plain(name),
    }
}

/// Splits at commas outside of parentheses.
fn at_commas(text: &'static str) -> Vec<&'static str> {
    let mut depth = 0_usize;
    let parts = text.split(move |letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An unreadable line would forbid a function without notice.
    #[test]
    fn the_table_is_whole() {
        let lines = include_str!("cel_functions.txt").lines();
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (names, signature) = line.split_once("  ").unwrap();
            assert!(Signature::read(signature.trim()).is_some(), "{line}");
            assert!(
                names.split(' ').all(|name| FUNCTIONS.contains_key(name)),
                "{line}"
            );
        }
    }
}
