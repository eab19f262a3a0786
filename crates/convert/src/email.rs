//! E-mail to text: who wrote what to whom and when, the best of its texts, and its attachments as documents.

mod header;
mod parts;
mod transfer;
mod words;

use bytes::Bytes;

use self::parts::{Entity, split_multipart};
use crate::guarded::Clock;
use crate::output::{Output, one_line};
use crate::plain::NOT_TEXT;
use crate::{Attachment, ConvertError, Converted, Limits, Note, Unit, charset};

/// Multiparts and messages inside each other.
const MAX_DEPTH: usize = 12;

/// Parts of one e-mail, messages inside it included.
const MAX_PARTS: usize = 2_000;

/// The headers that are shown.
const SHOWN: [&str; 6] = ["From", "To", "Cc", "Reply-To", "Date", "Subject"];

/// Headers of which every e-mail has at least one.
const USUAL: [&str; 7] =
    ["From", "Date", "Subject", "Message-ID", "Received", "MIME-Version", "Content-Type"];

/// Longest value of a header that is shown, in characters.
const MAX_VALUE: usize = 4_000;

pub(crate) fn convert(bytes: &Bytes, limits: &Limits, clock: Clock) -> Result<Converted, ConvertError> {
    let entity = Entity::parse(bytes);
    if !USUAL.iter().any(|name| entity.has(name)) {
        return Err(ConvertError::Malformed { reason: "it cannot be read as an e-mail" });
    }
    let mut output = Output::new(Unit::Whole, limits);
    output.begin("");
    let mut letter = Letter { output: &mut output, clock, parts: 0, messages: 0 };
    letter.message(&entity, 0)?;
    output.finish()
}

/// An e-mail that is being read.
struct Letter<'o> {
    output: &'o mut Output,
    clock: Clock,
    parts: usize,
    messages: usize,
}

impl Letter<'_> {
    fn message(&mut self, entity: &Entity, depth: usize) -> Result<(), ConvertError> {
        for name in SHOWN {
            if let Some(value) = entity.header(name) {
                let value: String = one_line(&value);
                let value: String = value.chars().take(MAX_VALUE).collect();
                if !value.is_empty() {
                    self.output.line(&format!("{name}: {value}"));
                }
            }
        }
        self.output.blank();
        self.entity(entity, depth)
    }

    /// True if one more part is looked at.
    fn count(&mut self, depth: usize) -> Result<bool, ConvertError> {
        self.clock.check()?;
        self.parts += 1;
        let fits = self.parts <= MAX_PARTS && depth <= MAX_DEPTH;
        if !fits {
            self.output.note(Note::EntriesLeftOut);
            self.output.truncated();
        }
        Ok(fits)
    }

    fn entity(&mut self, entity: &Entity, depth: usize) -> Result<(), ConvertError> {
        if !self.count(depth)? {
            return Ok(());
        }
        let media = entity.media();
        match media.split_once('/') {
            Some(("multipart", kind)) if !entity.boundary().is_empty() => self.multipart(entity, kind, depth),
            Some(("message", "rfc822" | "global")) => self.forwarded(entity, depth),
            Some(("application", "pgp-signature" | "pkcs7-signature" | "x-pkcs7-signature")) => {
                self.output.not_shown("signature");
                Ok(())
            }
            Some(("application", "pgp-encrypted")) => Ok(()),
            Some(("application", "pkcs7-mime" | "x-pkcs7-mime")) => {
                self.output.line("[the content is encrypted or signed, and cannot be read]");
                self.attach(entity);
                Ok(())
            }
            Some(("text", "plain" | "html" | "enriched" | "rfc822-headers"))
            | Some(("message", "delivery-status"))
                if !entity.is_attachment() =>
            {
                self.text(entity)
            }
            _ => {
                self.attach(entity);
                Ok(())
            }
        }
    }

    fn multipart(&mut self, entity: &Entity, kind: &str, depth: usize) -> Result<(), ConvertError> {
        let (parts, all) = split_multipart(entity, MAX_PARTS.saturating_sub(self.parts), kind == "digest");
        if !all {
            self.output.note(Note::EntriesLeftOut);
            self.output.truncated();
        }
        if kind == "encrypted" {
            self.output.line("[the content is encrypted]");
        }
        let chosen = if kind == "alternative" { best(&parts, depth) } else { None };
        for (at, part) in parts.iter().enumerate() {
            match chosen {
                // The others say the same in another form, unless they are of another kind.
                Some(chosen) if at != chosen && says_text(part, depth) => self.parts += 1,
                _ => self.entity(part, depth + 1)?,
            }
        }
        Ok(())
    }

    fn forwarded(&mut self, entity: &Entity, depth: usize) -> Result<(), ConvertError> {
        let inner = Entity::parse(&entity.content());
        if depth >= MAX_DEPTH || !USUAL.iter().any(|name| inner.has(name)) {
            self.attach(entity);
            return Ok(());
        }
        self.messages += 1;
        self.output.blank();
        self.output.line(&format!("[attached message {}]", self.messages));
        self.message(&inner, depth + 1)
    }

    fn text(&mut self, entity: &Entity) -> Result<(), ConvertError> {
        let bytes = entity.content();
        let html = entity.media() == "text/html";
        self.output.end_line();
        #[cfg(feature = "html")]
        if html {
            let said = entity.charset().or_else(|| crate::html::said(&bytes));
            let text = self.decoded(&bytes, said.as_deref());
            let mut flow = crate::flow::Flow::new(self.output);
            crate::html::render(&text, crate::html::Titles::Shown, &mut flow, self.clock)?;
            flow.finish();
            return Ok(());
        }
        let _ = html;
        let text = self.decoded(&bytes, entity.charset().as_deref());
        for line in text.lines() {
            self.output.line(line);
        }
        Ok(())
    }

    fn decoded(&mut self, bytes: &[u8], charset: Option<&str>) -> String {
        match charset::decode(bytes, charset).ok_or(NOT_TEXT) {
            Ok(decoded) => {
                if let Some(note) = decoded.note() {
                    self.output.note(note);
                }
                decoded.text.into_owned()
            }
            Err(_) => {
                let text = String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}");
                let count = text.matches(char::REPLACEMENT_CHARACTER).count();
                self.output.note(Note::UnreadableCharacters { count });
                text
            }
        }
    }

    fn attach(&mut self, entity: &Entity) {
        self.output.attach(Attachment {
            bytes: entity.content(),
            media_type: entity.media().to_owned(),
            file_name: entity.file_name(),
        });
    }
}

/// The one of several forms of the same text that is read: plain text, unless it says hardly anything and there is
/// HTML too.
fn best(parts: &[Entity], depth: usize) -> Option<usize> {
    let of = |media: &str| parts.iter().position(|part| part.media() == media && !part.is_attachment());
    let plain = of("text/plain");
    let rich = of("text/html").or_else(|| {
        parts.iter().position(|part| part.media().starts_with("multipart/") && says_text(part, depth))
    });
    match (plain, rich) {
        (Some(plain), Some(rich)) => {
            let says = |at: usize| parts.get(at).map_or(0, |part| part.content().trim_ascii().len());
            let stub = says(plain) < 200 && says(rich) > 20 * says(plain).max(1);
            Some(if stub || says(plain) == 0 { rich } else { plain })
        }
        (plain, rich) => plain.or(rich),
    }
}

/// True if a part of alternatives is one more form of the text. A part that holds attachments is not.
fn says_text(part: &Entity, depth: usize) -> bool {
    let media = part.media();
    if part.is_attachment() || depth > MAX_DEPTH {
        return false;
    }
    match media {
        "text/plain" | "text/html" | "text/enriched" | "text/x-amp-html" | "text/watch-html" => true,
        _ if media.starts_with("multipart/") => {
            let (parts, _) = split_multipart(part, 100, false);
            let picture = |part: &Entity| part.media().starts_with("image/");
            parts.iter().all(|part| says_text(part, depth + 1) || picture(part))
        }
        _ => false,
    }
}
