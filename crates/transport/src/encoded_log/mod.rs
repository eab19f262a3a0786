//! A history as the bytes of one wire form, rendered once.

mod store;
mod writer;

use std::collections::HashMap;
use std::sync::Arc;

use attache_core::{Message, MessageId, ProviderError};
use bytes::Bytes;

pub use self::writer::{Fill, ItemWriter, Template};

use self::store::Store;
use self::writer::Draft;
use crate::body::{EncodedBody, Frames};
use crate::call_pairing::check_pairing_behind;

/// The role under which an item stands on the wire; the numbers are the codec's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RoleTag(u8);

impl RoleTag {
    /// The tag `number`.
    pub const fn new(number: u8) -> Self {
        Self(number)
    }
}

/// The bytes before, between and after the items of a log, by their roles.
///
/// Chat Completions has a JSON message per item: `Envelope::new(|_| "", |_, _| ",", |_| "")`, which is
/// [`Envelope::LIST`]. In the Messages API an item is the comma-separated content blocks of a message: it opens
/// with `{"role":"user","content":[`, closes with `]}`, items of one role are joined by `,` and others by
/// `]},{"role":"assistant","content":[`.
#[derive(Clone, Copy, Debug)]
pub struct Envelope {
    open: fn(RoleTag) -> &'static str,
    between: fn(RoleTag, RoleTag) -> &'static str,
    close: fn(RoleTag) -> &'static str,
}

impl Envelope {
    /// Items that are separated by commas and need nothing else.
    pub const LIST: Self = Self::new(|_| "", |_, _| ",", |_| "");

    /// An envelope of three functions: what opens the first item, what stands between two neighbours (the earlier
    /// role first), what closes the last item.
    pub const fn new(
        open: fn(RoleTag) -> &'static str,
        between: fn(RoleTag, RoleTag) -> &'static str,
        close: fn(RoleTag) -> &'static str,
    ) -> Self {
        Self { open, between, close }
    }
}

/// Bytes to splice into an item when a body is made, such as `,"cache_control":{"type":"ephemeral"}`.
#[derive(Clone, Debug)]
pub struct Marker {
    item: usize,
    bytes: Bytes,
}

impl Marker {
    /// Splices `bytes` into the item of the message at `index` (of the list given to [`EncodedLog::sync`]), at the
    /// place where [`ItemWriter::marker_here`] was called. An item without such a place is left as it is;
    /// [`EncodedLog::takes_marker`] tells.
    pub fn new(index: usize, bytes: impl Into<Bytes>) -> Self {
        Self { item: index, bytes: bytes.into() }
    }
}

/// The items of one conversation in one wire form: chunks of about 64 KiB that bodies share, of which the last one grows
/// with the conversation.
///
/// A codec keeps it in the request's [`Transcript`](attache_core::Transcript) between requests. Bytes that are no
/// longer needed are given back in whole chunks; only when more than half of the held ones are dead are the living
/// bytes moved together.
///
/// ```
/// use attache_core::{UserPart, Message, Transcript};
/// use attache_transport::{EncodedLog, Envelope, RoleTag};
///
/// let transcript = Transcript::new();
/// let messages = [Message::user("hi").shared(), Message::user("you").shared()];
///
/// let mut log = transcript.take("demo").unwrap_or_else(|| EncodedLog::new(&Envelope::LIST));
/// log.sync(&messages, |_, _| 0, |_, message, out| {
///     let Message::User(user) = message else { return Ok(None) };
///     for part in user.shown() {
///         if let UserPart::Text(text) = part {
///             out.raw(r#"{"text":"#);
///             out.string(text.text());
///             out.raw("}");
///         }
///     }
///     Ok(Some(RoleTag::new(0)))
/// })?;
/// let body = log.body(r#"{"messages":["#, "]}", &[]);
/// transcript.put("demo", log);
/// assert_eq!(body.to_vec(), br#"{"messages":[{"text":"hi"},{"text":"you"}]}"#);
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
#[derive(Debug)]
pub struct EncodedLog {
    envelope: &'static Envelope,
    items: Vec<Item>,
    store: Store,
}

/// A message and where it is.
#[derive(Debug)]
struct Item {
    message: Arc<Message>,
    variant: u64,
    /// Absent for a message that leaves nothing on this wire.
    place: Option<Place>,
}

/// Offsets into the store.
#[derive(Clone, Copy, Debug)]
struct Place {
    role: RoleTag,
    /// The role of the item that stood before when the separator was written.
    after: Option<RoleTag>,
    /// Where the separator starts; the item follows at `start`.
    lead: u64,
    start: u64,
    end: u64,
    /// Where a marker may be spliced in.
    mark: Option<u64>,
}

impl Item {
    #[inline]
    fn holds(&self, message: &Arc<Message>, variant: u64) -> bool {
        self.variant == variant && is_same_message(&self.message, message)
    }
}

/// True if both are the same message in the same state.
#[inline]
pub(crate) fn is_same_message(a: &Arc<Message>, b: &Arc<Message>) -> bool {
    Arc::ptr_eq(a, b) || a.id() == b.id() && a.stamp() == b.stamp()
}

/// Dead bytes up to here are not worth moving the living for.
const DEAD_TOLERATED: u64 = 256 << 10;

impl EncodedLog {
    /// An empty log.
    pub fn new(envelope: &'static Envelope) -> Self {
        Self { envelope, items: Vec::new(), store: Store::default() }
    }

    /// Checks calls and results as [`check_pairing`](crate::check_pairing) does. The beginning that the log holds was
    /// checked before it was rendered.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidHistory`](attache_core::ErrorKind::InvalidHistory) names the calls.
    pub fn check_pairing(&self, messages: &[Arc<Message>]) -> Result<(), ProviderError> {
        let known = self.items.iter().zip(messages);
        let held = known.take_while(|(item, message)| is_same_message(&item.message, message)).count();
        check_pairing_behind(messages, held)
    }

    /// Makes the items those of `messages`, rendering only messages that the log does not hold.
    ///
    /// A message is held if an item has the same `Arc`, or the same id and stamp, and the same `variant`: a number
    /// of the codec's own for whatever else its rendering of a message depends on (whether reasoning is replayed,
    /// say); it gets the message's index. Messages may be appended, changed, inserted and evicted anywhere.
    ///
    /// `render` gets a message and its index, writes it and returns its role, or `None` if the message leaves nothing on this wire (a
    /// system message that goes elsewhere); what it wrote is then dropped, and the message is remembered all the
    /// same. It must depend on nothing but the message and its variant; what it takes from other messages, found by the
    /// index, belongs into the variant.
    ///
    /// # Errors
    /// The first error of `render`. The log then holds the messages before it and can be synced again.
    pub fn sync<V, R>(
        &mut self,
        messages: &[Arc<Message>],
        variant: V,
        mut render: R,
    ) -> Result<(), ProviderError>
    where
        V: Fn(usize, &Message) -> u64,
        R: FnMut(usize, &Message, &mut ItemWriter<'_>) -> Result<Option<RoleTag>, ProviderError>,
    {
        let mut same = 0;
        for (index, (item, message)) in self.items.iter_mut().zip(messages).enumerate() {
            if !item.holds(message, variant(index, message)) {
                break;
            }
            if !Arc::ptr_eq(&item.message, message) {
                item.message = Arc::clone(message);
            }
            same = index + 1;
        }
        self.store.open();
        let mut known = self.take_known(same, messages, &variant);

        let mut role = self.last_role();
        let mut draft = Draft::new();
        for (index, message) in messages.iter().enumerate().skip(same) {
            // An empty table would hash the id all the same.
            let held = if known.is_empty() { None } else { known.remove(message.id()) };
            let item = match held {
                Some(item) => Item { message: Arc::clone(message), ..item },
                None => {
                    let mut writer = ItemWriter::new(&self.store, &mut draft);
                    let tag = render(index, message, &mut writer)?.filter(|_| !writer.is_empty());
                    let place = tag.map(|tag| self.append(tag, role, &mut draft));
                    Item { message: Arc::clone(message), variant: variant(index, message), place }
                }
            };
            role = item.place.map(|place| place.role).or(role);
            self.items.push(item);
        }
        self.store.close();
        Ok(())
    }

    /// Takes the items behind the first `same` apart: those that `messages` still has are returned, the bytes of
    /// the others are given back.
    fn take_known(
        &mut self,
        same: usize,
        messages: &[Arc<Message>],
        variant: &impl Fn(usize, &Message) -> u64,
    ) -> HashMap<MessageId, Item> {
        if same == self.items.len() {
            return HashMap::new();
        }
        let rest = self.items.drain(same..);
        let mut old: HashMap<_, _> = rest.map(|item| (item.message.id().clone(), item)).collect();
        let mut known = HashMap::new();
        for (index, message) in messages.iter().enumerate().skip(same) {
            if let Some(item) = old.remove(message.id())
                && item.holds(message, variant(index, message))
            {
                known.insert(message.id().clone(), item);
            }
        }
        let places = self.items.iter().chain(known.values()).filter_map(|item| item.place);
        let mut live: Vec<(u64, u64)> = places.map(|place| (place.lead, place.end)).collect();
        live.sort_unstable();
        self.store.keep(&live);
        let living: u64 = live.iter().map(|(start, end)| end - start).sum();
        if self.store.text_len() > living.saturating_mul(2) + DEAD_TOLERATED {
            self.compact(&mut known);
        }
        known
    }

    /// Moves the living bytes together, in the order of the items.
    fn compact(&mut self, known: &mut HashMap<MessageId, Item>) {
        let old = std::mem::take(&mut self.store);
        let mut rest: Vec<&mut Item> = known.values_mut().collect();
        rest.sort_unstable_by_key(|item| item.place.map(|place| place.lead));
        for item in self.items.iter_mut().chain(rest) {
            if let Some(place) = &mut item.place {
                let lead = self.store.end();
                self.store.append_from(&old, place.lead, place.end);
                place.start = lead + (place.start - place.lead);
                place.mark = place.mark.map(|mark| lead + (mark - place.lead));
                (place.lead, place.end) = (lead, self.store.end());
            }
        }
    }

    fn append(&mut self, role: RoleTag, after: Option<RoleTag>, draft: &mut Draft) -> Place {
        let lead = self.store.end();
        if let Some(after) = after {
            self.store.append((self.envelope.between)(after, role).as_bytes());
        }
        let start = self.store.end();
        draft.move_to(&mut self.store);
        let end = self.store.end();
        self.store.seal_if_long();
        Place { role, after, lead, start, end, mark: draft.mark.map(|mark| start + mark) }
    }

    /// The role of the first item with bytes.
    pub fn first_role(&self) -> Option<RoleTag> {
        self.items.iter().find_map(|item| item.place).map(|place| place.role)
    }

    /// The role of the last item with bytes.
    pub fn last_role(&self) -> Option<RoleTag> {
        self.items.iter().rev().find_map(|item| item.place).map(|place| place.role)
    }

    /// True if the message at `index` has bytes and a place for a marker.
    pub fn takes_marker(&self, index: usize) -> bool {
        self.items.get(index).and_then(|item| item.place).is_some_and(|place| place.mark.is_some())
    }

    /// The body `head`, items in their envelope, `tail`. Without items it is `head` and `tail` alone.
    ///
    /// Chunks are shared, not copied. Of several markers for one item the first counts.
    pub fn body(&self, head: impl Into<Bytes>, tail: impl Into<Bytes>, markers: &[Marker]) -> EncodedBody {
        let mut frames = Frames::default();
        frames.share(head.into());
        // Neighbouring items whose bytes are neighbours too go out in one piece.
        let mut run = (0, 0);
        let mut before: Option<RoleTag> = None;
        for (index, item) in self.items.iter().enumerate() {
            let Some(place) = &item.place else { continue };
            // Nearly all go on where the one before them ends.
            if markers.is_empty() && before.is_some() && place.after == before && place.lead == run.1 {
                (run.1, before) = (place.end, Some(place.role));
                continue;
            }
            if before.is_none() || place.after != before {
                self.store.frames(run.0, run.1, &mut frames);
                frames.copy(match before {
                    None => (self.envelope.open)(place.role).as_bytes(),
                    Some(before) => (self.envelope.between)(before, place.role).as_bytes(),
                });
                run.0 = place.start;
            } else if run.1 != place.lead {
                self.store.frames(run.0, run.1, &mut frames);
                run.0 = place.lead;
            }
            run.1 = place.end;
            before = Some(place.role);
            let marker = markers.iter().find(|marker| marker.item == index);
            if let (Some(marker), Some(mark)) = (marker, place.mark) {
                self.store.frames(run.0, mark, &mut frames);
                frames.copy(&marker.bytes);
                run.0 = mark;
            }
        }
        self.store.frames(run.0, run.1, &mut frames);
        if let Some(last) = before {
            frames.copy((self.envelope.close)(last).as_bytes());
        }
        frames.share(tail.into());
        frames.into_body()
    }
}

#[cfg(test)]
mod tests;
