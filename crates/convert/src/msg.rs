//! MSG to text: a message of Outlook, with its attachments as documents.

mod fixed;
mod packed;

use bytes::Bytes;
use encoding_rs::Encoding;

use self::fixed::Fixed;
use crate::charset;
use crate::code_pages::encoding;
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
const SENT_AT: u16 = 0x0039;
const DELIVERED_AT: u16 = 0x0e06;
const STARTS_AT: u16 = 0x0060;
const ENDS_AT: u16 = 0x0061;
const NAME: u16 = 0x3001;
const ADDRESS: u16 = 0x39fe;
const MAIL: u16 = 0x3003;
const RECIPIENT_KIND: u16 = 0x0c15;
const CODE_PAGE: u16 = 0x3ffd;
const INTERNET_CODE_PAGE: u16 = 0x3fde;

pub(crate) fn convert(bytes: &Bytes, limits: &Limits, clock: Clock) -> Result<Converted, ConvertError> {
    let mut reader = Reader {
        file: Compound::open(bytes, limits)?,
        limit: limits.max_decoded_bytes,
        clock,
        charset: None,
        guessed: None,
        unreadable: 0,
        messages: 0,
        attachments: 0,
    };
    let mut output = Output::new(Unit::Whole, limits);
    output.begin("");
    reader.message("/", 0, &mut output)?;
    if let Some(charset) = reader.guessed {
        output.note(Note::Charset { charset });
    }
    output.note(Note::UnreadableCharacters { count: reader.unreadable });
    output.finish()
}

/// A name with the address, where that is one and says more.
fn person(name: Option<String>, address: Option<String>) -> Option<String> {
    let address = address.filter(|address| address.contains('@') && Some(address) != name.as_ref());
    match (name, address) {
        (Some(name), Some(address)) => Some(format!("{name} <{address}>")),
        (name, address) => name.or(address),
    }
}

struct Reader {
    file: Compound,
    /// The bytes that a formatted body may take.
    limit: usize,
    clock: Clock,
    /// The charset of the message's texts of one byte a character.
    charset: Option<&'static str>,
    /// A charset that nothing names.
    guessed: Option<&'static str>,
    /// Characters whose bytes are damaged.
    unreadable: usize,
    /// Messages inside the message so far, and attachments.
    messages: usize,
    attachments: usize,
}

impl Reader {
    /// Writes the message that is kept in this storage, whose name ends in a slash.
    fn message(&mut self, root: &str, depth: usize, output: &mut Output) -> Result<(), ConvertError> {
        let properties = self.file.stream(&format!("{root}__properties_version1.0"));
        let fixed = Fixed::new(properties.unwrap_or_default(), if depth == 0 { 32 } else { 24 });
        let code_page = fixed.number(CODE_PAGE).and_then(encoding);
        let internet = fixed.number(INTERNET_CODE_PAGE).and_then(encoding).map(Encoding::name);
        let outer = self.charset;
        self.charset = match code_page.map(Encoding::name).or(internet) {
            Some(named) => Some(named),
            // Longer texts are told apart better than short ones.
            None => {
                let body = self.narrow(root, BODY);
                let guessed = body.and_then(|body| charset::decode(&body, None)?.guessed);
                self.guessed = guessed.or(self.guessed);
                guessed
            }
        };
        self.headers(root, &fixed, output);
        output.blank();
        self.body(root, internet, output)?;
        self.attachments(root, depth, output)?;
        self.charset = outer;
        Ok(())
    }

    /// A property that is a text.
    fn text(&mut self, storage: &str, property: u16) -> Option<String> {
        let text = match self.file.stream(&format!("{storage}__substg1.0_{property:04X}001F")) {
            Some(bytes) => wide(&bytes).trim_end_matches('\0').to_owned(),
            None => self.narrow(storage, property).map(|bytes| self.decode(&bytes, self.charset))?,
        };
        (!text.trim().is_empty()).then_some(text)
    }

    /// A property that is a text of one byte a character.
    fn narrow(&mut self, storage: &str, property: u16) -> Option<Vec<u8>> {
        let mut bytes = self.file.stream(&format!("{storage}__substg1.0_{property:04X}001E"))?;
        bytes.truncate(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
        Some(bytes)
    }

    fn decode(&mut self, bytes: &[u8], declared: Option<&str>) -> String {
        let Some(decoded) = charset::decode(bytes, declared) else { return narrow(bytes) };
        self.guessed = decoded.guessed.or(self.guessed);
        self.unreadable += decoded.unreadable;
        decoded.text.into_owned()
    }

    fn binary(&mut self, storage: &str, property: u16) -> Option<Vec<u8>> {
        self.file.stream(&format!("{storage}__substg1.0_{property:04X}0102"))
    }

    fn headers(&mut self, root: &str, fixed: &Fixed, output: &mut Output) {
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
        let date = sent("Date").or_else(|| fixed.moment(SENT_AT)).or_else(|| fixed.moment(DELIVERED_AT));
        let sender = self.text(root, SENDER);
        let address = self.text(root, SENDER_ADDRESS).or_else(|| self.text(root, SENDER_MAIL));
        let from = person(sender, address);
        let recipients = self.recipients(root);
        // The lists of names lack the addresses.
        let list = |kind: Option<i32>| {
            let people = recipients.iter().filter(|(known, _)| *known == kind);
            let people: Vec<&str> = people.map(|(_, person)| person.as_str()).collect();
            (!people.is_empty()).then(|| people.join("; "))
        };
        // A list of names alone is shorter.
        let fits = |list: &String| list.chars().count() <= MAX_VALUE;
        let to = list(Some(1)).filter(fits).or_else(|| self.text(root, TO));
        let to = to.or_else(|| list(Some(1))).or_else(|| list(None));
        let cc = list(Some(2)).filter(fits).or_else(|| self.text(root, CC)).or_else(|| list(Some(2)));
        let subject = self.text(root, SUBJECT);
        let (start, end) = (fixed.moment(STARTS_AT), fixed.moment(ENDS_AT));
        let headers = [
            ("From", from),
            ("To", to),
            ("Cc", cc),
            ("Date", date),
            ("Start", start),
            ("End", end),
            ("Subject", subject),
        ];
        for (name, value) in headers {
            let value = value.unwrap_or_default();
            let value: String = one_line(&value).chars().take(MAX_VALUE).collect();
            if !value.is_empty() {
                output.line(&format!("{name}: {value}"));
            }
        }
    }

    /// The recipients with their addresses, and what they are: 1 if it was sent to them, 2 if they got a copy.
    fn recipients(&mut self, root: &str) -> Vec<(Option<i32>, String)> {
        let storages = self.storages(root, "__recip_version1.0").into_iter().take(MAX_RECIPIENTS);
        let of_one = |storage: String| {
            let properties = self.file.stream(&format!("{storage}__properties_version1.0"));
            let kind = Fixed::new(properties.unwrap_or_default(), 8).number(RECIPIENT_KIND);
            // Flags stand above it.
            let kind = kind.map(|kind| kind & 0xf);
            let address = self.text(&storage, ADDRESS).or_else(|| self.text(&storage, MAIL));
            Some((kind, person(self.text(&storage, NAME), address)?))
        };
        storages.filter_map(of_one).collect()
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

    fn body(&mut self, root: &str, internet: Option<&str>, output: &mut Output) -> Result<(), ConvertError> {
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
            let said = crate::html::said(None, &html);
            let text = self.decode(&html, said.as_deref().or(internet));
            let mut flow = crate::flow::Flow::new(output);
            crate::html::render(&text, crate::html::Form::Html, &mut flow, self.clock)?;
            flow.finish();
        }
        #[cfg(not(feature = "html"))]
        for line in self.decode(&html, internet).lines() {
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
