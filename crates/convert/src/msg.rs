//! MSG to text: a message of Outlook, with its attachments as documents.

use bytes::Bytes;

use crate::compound::{Compound, narrow, wide};
use crate::guarded::Clock;
use crate::output::{Output, marker_name};
use crate::{Attachment, ConvertError, Converted, Limits, Note, Unit};

/// Attachments that are given on, and recipients that are listed.
const MAX_ATTACHMENTS: usize = 200;
const MAX_RECIPIENTS: usize = 1_000;

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
const DATA: u16 = 0x3701;
const LONG_NAME: u16 = 0x3707;
const SHORT_NAME: u16 = 0x3704;
const MEDIA: u16 = 0x370e;

pub(crate) fn convert(bytes: &Bytes, limits: &Limits, clock: Clock) -> Result<Converted, ConvertError> {
    let mut message = Message { file: Compound::open(bytes, limits)? };
    let mut output = Output::new(Unit::Whole, limits);
    output.begin("");
    message.headers(&mut output);
    output.blank();
    message.body(&mut output, clock)?;
    message.attachments(&mut output, clock)?;
    output.finish()
}

struct Message {
    file: Compound,
}

impl Message {
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

    fn headers(&mut self, output: &mut Output) {
        let transport = self.text("/", HEADERS).unwrap_or_default();
        // What was sent says it best.
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
        let sender = self.text("/", SENDER);
        let address = self.text("/", SENDER_ADDRESS).or_else(|| self.text("/", SENDER_MAIL));
        let address = address.filter(|address| address.contains('@') && Some(address) != sender.as_ref());
        let from = match (sender, address) {
            (Some(name), Some(address)) => Some(format!("{name} <{address}>")),
            (name, address) => name.or(address),
        };
        let (to, cc, subject) = (self.text("/", TO), self.text("/", CC), self.text("/", SUBJECT));
        let to = to.or_else(|| self.recipients());
        for (name, value) in [("From", from), ("To", to), ("Cc", cc), ("Date", date), ("Subject", subject)] {
            let value = value.unwrap_or_default();
            let value: String =
                value.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_VALUE).collect();
            if !value.is_empty() {
                output.line(&format!("{name}: {value}"));
            }
        }
    }

    fn recipients(&mut self) -> Option<String> {
        let storages = self.storages("__recip_version1.0");
        let names: Vec<String> = storages
            .iter()
            .take(MAX_RECIPIENTS)
            .filter_map(|storage| self.text(storage, 0x3001).or_else(|| self.text(storage, 0x39fe)))
            .collect();
        (!names.is_empty()).then(|| names.join("; "))
    }

    /// The storages whose names begin like this, in their order.
    fn storages(&self, prefix: &str) -> Vec<String> {
        let entries = self.file.entries("/").into_iter();
        let mut found: Vec<String> = entries
            .filter(|entry| !entry.is_stream && entry.name.starts_with(prefix))
            .map(|entry| format!("/{}/", entry.name))
            .collect();
        found.sort();
        found
    }

    fn body(&mut self, output: &mut Output, clock: Clock) -> Result<(), ConvertError> {
        if let Some(text) = self.text("/", BODY) {
            for line in text.lines() {
                clock.check()?;
                output.line(line);
            }
            return Ok(());
        }
        let html = self.binary("/", HTML).or_else(|| self.text("/", HTML).map(String::into_bytes));
        let Some(html) = html else {
            // The body of formatted messages, in a compression of its own.
            if self.file.has("/__substg1.0_10090102") {
                output.not_shown("formatted body");
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
            crate::html::render(&text, crate::html::Titles::Shown, &mut flow, clock)?;
            flow.finish();
        }
        #[cfg(not(feature = "html"))]
        for line in narrow(&html).lines() {
            output.line(line);
        }
        Ok(())
    }

    fn attachments(&mut self, output: &mut Output, clock: Clock) -> Result<(), ConvertError> {
        for (index, storage) in self.storages("__attach_version1.0").iter().enumerate() {
            clock.check()?;
            if index >= MAX_ATTACHMENTS {
                output.note(Note::EntriesLeftOut);
                output.truncated();
                break;
            }
            let file_name = self.text(storage, LONG_NAME).or_else(|| self.text(storage, SHORT_NAME));
            let media_type = self.text(storage, MEDIA).unwrap_or("application/octet-stream".to_owned());
            let name = marker_name(file_name.as_deref().unwrap_or("without a name"));
            let number = index + 1;
            output.end_line();
            match self.binary(storage, DATA) {
                Some(bytes) => {
                    output
                        .line(&format!("[attachment {number}: {name}, {media_type}, {} bytes]", bytes.len()));
                    output.attach(Attachment { bytes: bytes.into(), media_type, file_name });
                }
                // A message or an object that is attached as it was.
                None => {
                    output.line(&format!("[attachment {number}: {name}, which cannot be read]"));
                    output.not_shown("embedded document");
                }
            }
        }
        Ok(())
    }
}
