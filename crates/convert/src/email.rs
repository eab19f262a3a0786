//! E-mail to text: who wrote what to whom and when, the best of its texts, and its attachments as documents.

mod flowed;
mod header;
mod parts;
mod transfer;
mod words;

use bytes::Bytes;

use self::parts::{Entity, split_multipart};
use crate::guarded::Clock;
use crate::output::{Output, one_line};
use crate::{Attachment, ConvertError, Converted, Limits, Note, Unit};

/// Multiparts and messages inside each other.
const MAX_DEPTH: usize = 12;

/// Parts of one e-mail, messages inside it included.
const MAX_PARTS: usize = 2_000;

/// The headers that are shown.
const SHOWN: [&str; 6] = ["From", "To", "Cc", "Reply-To", "Date", "Subject"];

/// Headers of which every e-mail has at least one.
const USUAL: [&str; 7] =
    ["From", "Date", "Subject", "Message-ID", "Received", "MIME-Version", "Content-Type"];

/// The maximum number of letters of a plain text that may be a mere stub of the HTML beside it, and how many times as
/// many letters the HTML shows then.
const STUB: usize = 1_000;
const RICHER: usize = 4;

/// Longest value of a header that is shown, in characters.
const MAX_VALUE: usize = 4_000;

pub(crate) fn convert(bytes: &Bytes, limits: &Limits, clock: Clock) -> Result<Converted, ConvertError> {
    let entity = Entity::parse(bytes);
    if !USUAL.iter().any(|name| entity.has(name)) {
        return Err(ConvertError::Malformed { reason: "it cannot be read as an e-mail" });
    }
    let mut output = Output::new(Unit::Whole, limits);
    output.begin("");
    let mut letter = Letter { output: &mut output, limits, clock, parts: 0, messages: 0 };
    letter.message(&entity, 0)?;
    output.finish()
}

/// An e-mail that is being read.
struct Letter<'o> {
    output: &'o mut Output,
    limits: &'o Limits,
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
        let chosen = if kind == "alternative" { self.best(&parts, depth)? } else { None };
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
            let said = crate::html::said(entity.charset().as_deref(), &bytes);
            let text = self.decoded(&bytes, said.as_deref());
            let mut flow = crate::flow::Flow::new(self.output);
            crate::html::render(&text, crate::html::Form::Html, &mut flow, self.clock)?;
            flow.finish();
            return Ok(());
        }
        let _ = html;
        let mut text = self.decoded(&bytes, entity.charset().as_deref());
        if let Some(flowed) = entity.flowed() {
            text = flowed.undone(&text);
        }
        for line in text.lines() {
            self.output.line(line);
        }
        Ok(())
    }

    fn decoded(&mut self, bytes: &[u8], charset: Option<&str>) -> String {
        match words::text_in(bytes, charset) {
            Some(decoded) => {
                decoded.notes().for_each(|note| self.output.note(note));
                decoded.text.into_owned()
            }
            None => {
                let text = String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}");
                let count = text.matches(char::REPLACEMENT_CHARACTER).count();
                self.output.note(Note::UnreadableCharacters { count });
                text
            }
        }
    }

    /// The one of several forms of the same text that is read: plain text, unless it says hardly anything and there is
    /// HTML that says more.
    fn best(&self, parts: &[Entity], depth: usize) -> Result<Option<usize>, ConvertError> {
        let of = |media: &str| parts.iter().position(|part| part.media() == media && !part.is_attachment());
        let rich = of("text/html").or_else(|| {
            parts.iter().position(|part| part.media().starts_with("multipart/") && says_text(part, depth))
        });
        let (Some(plain), Some(rich)) = (of("text/plain"), rich) else {
            return Ok(of("text/plain").or(rich));
        };
        let says = match parts.get(plain) {
            Some(part) => letters(&decoded(part, part.charset().as_deref())),
            None => 0,
        };
        if says > STUB {
            return Ok(Some(plain));
        }
        let shows = match parts.get(rich).map(|part| html_of(part, depth)) {
            Some(Some(html)) => letters(&self.shown(&html)?),
            _ => 0,
        };
        Ok(Some(if says == 0 || shows > RICHER * says { rich } else { plain }))
    }

    /// The text that HTML shows.
    fn shown(&self, html: &str) -> Result<String, ConvertError> {
        #[cfg(feature = "html")]
        {
            let mut output = Output::new(Unit::Whole, self.limits);
            output.begin("");
            let mut flow = crate::flow::Flow::new(&mut output);
            crate::html::render(html, crate::html::Form::Html, &mut flow, self.clock)?;
            flow.finish();
            Ok(output.into_text())
        }
        #[cfg(not(feature = "html"))]
        Ok(html.chars().take(self.limits.max_output_bytes).collect())
    }

    fn attach(&mut self, entity: &Entity) {
        self.output.attach(Attachment {
            bytes: entity.content(),
            media_type: entity.media().to_owned(),
            file_name: entity.file_name(),
        });
    }
}

/// The letters of a text that are no part of an address.
fn letters(text: &str) -> usize {
    text.split_whitespace().filter(|word| !word.contains("://")).map(|word| word.chars().count()).sum()
}

fn decoded(part: &Entity, said: Option<&str>) -> String {
    let bytes = part.content();
    match words::text_in(&bytes, said) {
        Some(decoded) => decoded.text.into_owned(),
        None => String::from_utf8_lossy(&bytes).into_owned(),
    }
}

/// The HTML of a part, or of one inside it.
fn html_of(part: &Entity, depth: usize) -> Option<String> {
    if part.media().starts_with("multipart/") && depth <= MAX_DEPTH {
        let (parts, _) = split_multipart(part, 100, false);
        return parts.iter().find_map(|part| html_of(part, depth + 1));
    }
    #[cfg(feature = "html")]
    let said = crate::html::said(part.charset().as_deref(), &part.content());
    #[cfg(not(feature = "html"))]
    let said = part.charset();
    (part.media() == "text/html").then(|| decoded(part, said.as_deref()))
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
