//! MSG to text: a message of Outlook, with its attachments as documents.

mod packed;

use bytes::Bytes;

use crate::compound::Compound;
use crate::fields::{narrow, wide};
use crate::guarded::Clock;
use crate::output::{Output, one_line};
use crate::{Attachment, ConvertError, Converted, Limits, Note, Unit};

/// Recipients that are listed, messages inside each other, and attachments of all of them that are looked at.
const MAX_RECIPIENTS: usize = 1_000;
const MAX_DEPTH: usize = 12;
const MAX_ATTACHMENTS: usize = 2_000;

/// Longest value of a header that is shown, in characters.
const MAX_VALUE: usize = 4_000;

/// Properties by their numbers.
const SUBJECT: u16 = 0x0037;
const SENDER: u16 = 0x0c1a;
const SENDER_ADDRESS: u16 = 0x5d01;
const SENDER_MAIL: u16 = 0x0c1f;
const TO: u16 = 0x0e04;
const CC: u16 = 0x0e03;
const HEADERS: u16 = 0x007d;
const BODY: u16 = 0x1000;
const HTML: u16 = 0x1013;
const RTF: u16 = 0x1009;
const DATA: u16 = 0x3701;
const LONG_NAME: u16 = 0x3707;
const SHORT_NAME: u16 = 0x3704;
const MEDIA: u16 = 0x370e;

pub(crate) fn convert(bytes: &Bytes, limits: &Limits, clock: Clock) -> Result<Converted, ConvertError> {
    let mut reader = Reader {
        file: Compound::open(bytes, limits)?,
        limit: limits.max_decoded_bytes,
        clock,
        messages: 0,
        attachments: 0,
    };
    let mut output = Output::new(Unit::Whole, limits);
    output.begin("");
    reader.message("/", 0, &mut output)?;
    output.finish()
}

struct Reader {
    file: Compound,
    /// The bytes that a formatted body may take.
    limit: usize,
    clock: Clock,
    /// Messages inside the message so far, and attachments.
    messages: usize,
    attachments: usize,
}

impl Reader {
    /// Writes the message that is kept in this storage, whose name ends in a slash.
    fn message(&mut self, root: &str, depth: usize, output: &mut Output) -> Result<(), ConvertError> {
        self.headers(root, output);
        output.blank();
        self.body(root, output)?;
        self.attachments(root, depth, output)
    }

    /// A property that is a text.
    fn text(&mut self, storage: &str, property: u16) -> Option<String> {
        let text = match self.file.stream(&format!("{storage}__substg1.0_{property:04X}001F")) {
            Some(bytes) => wide(&bytes),
            None => narrow(&self.file.stream(&format!("{storage}__substg1.0_{property:04X}001E"))?),
        };
        let text = text.trim_end_matches('\0').to_owned();
        (!text.trim().is_empty()).then_some(text)
    }

    fn binary(&mut self, storage: &str, property: u16) -> Option<Vec<u8>> {
        self.file.stream(&format!("{storage}__substg1.0_{property:04X}0102"))
    }

    fn headers(&mut self, root: &str, output: &mut Output) {
        let transport = self.text(root, HEADERS).unwrap_or_default();
        // The headers that were sent say it best.
        let sent = |name: &str| {
            let mut value: Option<String> = None;
            for line in transport.lines() {
                match &mut value {
                    Some(value) if line.starts_with([' ', '\t']) => value.push_str(line),
                    Some(_) => break,
                    None => {
                        value = line
                            .split_once(':')
                            .filter(|(key, _)| key.eq_ignore_ascii_case(name))
                            .map(|(_, value)| value.to_owned());
                    }
                }
            }
            value
        };
        let date = sent("Date");
        let sender = self.text(root, SENDER);
        let address = self.text(root, SENDER_ADDRESS).or_else(|| self.text(root, SENDER_MAIL));
        let address = address.filter(|address| address.contains('@') && Some(address) != sender.as_ref());
        let from = match (sender, address) {
            (Some(name), Some(address)) => Some(format!("{name} <{address}>")),
            (name, address) => name.or(address),
        };
        let (to, cc, subject) = (self.text(root, TO), self.text(root, CC), self.text(root, SUBJECT));
        let to = to.or_else(|| self.recipients(root));
        for (name, value) in [("From", from), ("To", to), ("Cc", cc), ("Date", date), ("Subject", subject)] {
            let value = value.unwrap_or_default();
            let value: String = one_line(&value).chars().take(MAX_VALUE).collect();
            if !value.is_empty() {
                output.line(&format!("{name}: {value}"));
            }
        }
    }

    fn recipients(&mut self, root: &str) -> Option<String> {
        let storages = self.storages(root, "__recip_version1.0");
        let names: Vec<String> = storages
            .iter()
            .take(MAX_RECIPIENTS)
            .filter_map(|storage| self.text(storage, 0x3001).or_else(|| self.text(storage, 0x39fe)))
            .collect();
        (!names.is_empty()).then(|| names.join("; "))
    }

    /// The storages within one whose names begin like this, in their order.
    fn storages(&self, root: &str, prefix: &str) -> Vec<String> {
        let entries = self.file.entries(root).into_iter();
        let mut found: Vec<String> = entries
            .filter(|entry| !entry.is_stream && entry.name.starts_with(prefix))
            .map(|entry| format!("{root}{}/", entry.name))
            .collect();
        found.sort();
        found
    }

    fn body(&mut self, root: &str, output: &mut Output) -> Result<(), ConvertError> {
        if let Some(text) = self.text(root, BODY) {
            for line in text.lines() {
                self.clock.check()?;
                output.line(line);
            }
            return Ok(());
        }
        let html = self.binary(root, HTML).or_else(|| self.text(root, HTML).map(String::into_bytes));
        let Some(html) = html else {
            // The body of formatted messages, in a compression of its own.
            let body = self.binary(root, RTF);
            match body.as_ref().map(|body| packed::unpack(body, self.limit)) {
                Some(Some(rtf)) if rtf.starts_with(b"{\\rtf") => {
                    crate::rtf::render(&rtf, output, self.clock)?
                }
                Some(_) => output.not_shown("formatted body"),
                None => {}
            }
            return Ok(());
        };
        #[cfg(feature = "html")]
        {
            let said = crate::html::said(&html);
            let text = match crate::charset::decode(&html, said.as_deref()) {
                Some(decoded) => decoded.text.into_owned(),
                None => narrow(&html),
            };
            let mut flow = crate::flow::Flow::new(output);
            crate::html::render(&text, crate::html::Titles::Shown, &mut flow, self.clock)?;
            flow.finish();
        }
        #[cfg(not(feature = "html"))]
        for line in narrow(&html).lines() {
            output.line(line);
        }
        Ok(())
    }

    fn attachments(&mut self, root: &str, depth: usize, output: &mut Output) -> Result<(), ConvertError> {
        for storage in self.storages(root, "__attach_version1.0") {
            self.clock.check()?;
            self.attachments += 1;
            if self.attachments > MAX_ATTACHMENTS {
                output.note(Note::EntriesLeftOut);
                output.truncated();
                break;
            }
            let file_name = self.text(&storage, LONG_NAME).or_else(|| self.text(&storage, SHORT_NAME));
            if let Some(bytes) = self.binary(&storage, DATA) {
                let media_type = self.text(&storage, MEDIA).unwrap_or("application/octet-stream".to_owned());
                output.attach(Attachment { bytes: bytes.into(), media_type, file_name });
                continue;
            }
            // An attachment that stays as it was: a message, or the object of another program.
            let inner = format!("{storage}__substg1.0_{DATA:04X}000D/");
            if self.file.has(&format!("{inner}__properties_version1.0")) && depth < MAX_DEPTH {
                self.messages += 1;
                output.blank();
                output.line(&format!("[attached message {}]", self.messages));
                self.message(&inner, depth + 1, output)?;
                continue;
            }
            match self.file.extract(&inner) {
                Some(bytes) => {
                    crate::embedded::give_on(bytes, file_name.as_deref().unwrap_or("object"), output)
                }
                None => output.attach_unread(file_name.as_deref()),
            }
        }
        Ok(())
    }
}
