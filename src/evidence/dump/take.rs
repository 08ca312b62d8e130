//! Takes over the stretches of a file one by one, and hands what they hold to the gatherer.

use super::{
    DumpError,
    cut::{Batch, Language, What},
    gather::Gatherer,
    item::{DEEPEST, Found, Types},
    json,
    place::{CutOut, Place, Stretch},
    typed, yaml,
};
use crate::{Limits, json_list::Position};

/// How many times the size of the largest object may be kept until the type of a list is known.
const DEFERRED: usize = 4;

/// What was taken of a file so far.
pub(super) struct Taker<'a, 'd> {
    file: &'a str,
    limits: Limits,
    gatherer: &'a mut Gatherer<'d>,
    /// The type of the present list's items, where it is known by its beginning.
    items: Option<Types<'static>>,
    /// Items that do not name their type, until that of the list is known.
    deferred: Vec<Deferred>,
    /// The size of these.
    deferred_size: usize,
}

/// An item that is kept.
struct Deferred {
    language: Language,
    begins: Position,
    text: Vec<u8>,
}

impl<'a, 'd> Taker<'a, 'd> {
    /// Begins with a file.
    pub fn new(file: &'a str, limits: Limits, gatherer: &'a mut Gatherer<'d>) -> Self {
        gatherer.begin_file(file);
        Self {
            file,
            limits,
            gatherer,
            items: None,
            deferred: Vec::new(),
            deferred_size: 0,
        }
    }

    /// Takes several stretches.
    ///
    /// # Errors
    /// When one is not YAML or JSON, or the file exceeds a limit.
    pub fn take(&mut self, batch: Batch) -> Result<(), DumpError> {
        batch.into_stretches(|what, begins, text| self.take_stretch(what, begins, text))
    }

    fn take_stretch(&mut self, what: What, begins: Position, text: &[u8]) -> Result<(), DumpError> {
        match what {
            What::Whole(language) => {
                let place = self.place(begins, text, None)?;
                let mut sink = |found: Found<'_>| self.gatherer.take(found);
                match language {
                    Language::Json => json::each_item(place, &Types::default(), DEEPEST, &mut sink)?,
                    Language::Yaml => {
                        yaml::each_item(place, &mut sink)?;
                        self.gatherer.documents += 1;
                    }
                }
            }
            What::Opening => {
                let types = json::opening(self.place(begins, text, None)?.document());
                self.items = types.map(|types| types.of_items());
            }
            What::Item(Language::Json) => self.take_json(begins, text)?,
            What::Item(Language::Yaml) => self.take_item(Language::Yaml, begins, text, None)?,
            What::Around(language, cut) => self.end_list(language, begins, text, cut)?,
        }
        match self.gatherer.exceeded(&self.limits) {
            Some(limit) => Err(DumpError::TooLarge {
                file: self.file.to_owned(),
                line: begins.line + 1,
                limit,
            }),
            None => Ok(()),
        }
    }

    fn place<'t>(&self, begins: Position, text: &'t [u8], cut: Option<CutOut>) -> Result<Place<'t>, DumpError>
    where
        'a: 't,
    {
        let file = self.file;
        let stretch = Stretch {
            file,
            begins,
            text,
            cut,
        };
        stretch.place()
    }

    /// Nearly all items are profiles, which need no second look.
    fn take_json(&mut self, begins: Position, text: &[u8]) -> Result<(), DumpError> {
        let place = self.place(begins, text, None)?;
        if let Some(profile) = typed::profile(place.document()) {
            self.gatherer.take_typed(profile, place);
            return Ok(());
        }
        let inherited = self.items.clone();
        self.take_item(Language::Json, begins, text, inherited.as_ref())
    }

    /// Takes an item of a list, whose items have the type `inherited` unless they name one. If that is unknown and
    /// could matter, the item is deferred.
    fn take_item(
        &mut self,
        language: Language,
        begins: Position,
        text: &[u8],
        inherited: Option<&Types<'static>>,
    ) -> Result<(), DumpError> {
        let place = self.place(begins, text, None)?;
        let (is_known, inherited) = (inherited.is_some(), inherited.cloned().unwrap_or_default());
        let mut found = Vec::new();
        let mut sink = |one| found.push(one);
        match language {
            Language::Json => json::each_item(place, &inherited, DEEPEST - 1, &mut sink)?,
            Language::Yaml => yaml::each_of_item(place, &inherited, &mut sink)?,
        }
        if is_known || !found.iter().any(Found::lacks_type) {
            found.into_iter().for_each(|one| self.gatherer.take(one));
            return Ok(());
        }
        self.deferred_size += text.len();
        let is_too_large = self.deferred_size > self.limits.object.saturating_mul(DEFERRED);
        if is_too_large || self.deferred.len() >= self.limits.unreadable {
            return Err(DumpError::LateKind {
                file: self.file.to_owned(),
                line: begins.line + 1,
            });
        }
        self.deferred.push(Deferred {
            language,
            begins,
            text: text.to_vec(),
        });
        Ok(())
    }

    /// Ends a list: the type of its items is known now.
    fn end_list(
        &mut self,
        language: Language,
        begins: Position,
        text: &[u8],
        cut: CutOut,
    ) -> Result<(), DumpError> {
        let place = self.place(begins, text, Some(cut))?;
        let mut sink = |found: Found<'_>| self.gatherer.take(found);
        let types = match language {
            Language::Json => json::around(place, &mut sink)?.map(Types::into_owned),
            Language::Yaml => yaml::around(place, &mut sink)?,
        };
        self.items = None;
        self.deferred_size = 0;
        let deferred = std::mem::take(&mut self.deferred);
        // Of a list that is none, the rest of the items is lost with it.
        let Some(items) = types.map(|types| types.of_items()) else {
            return Ok(());
        };
        deferred
            .into_iter()
            .try_for_each(|item| self.take_item(item.language, item.begins, &item.text, Some(&items)))
    }
}
