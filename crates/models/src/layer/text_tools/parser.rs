//! Reads a reply of the text protocol while it streams.
//!
//! A text is shown as soon as its marker is certain. The end of the reading depends on the text alone, however it is cut
//! into pieces.

use std::sync::Arc;

use attache_core::ToolSet;

use super::action::{Action, Call, Reader};
use super::marker::{Form, Look, Marker, closings, find_any, held_back, look};

/// A piece that may be shown.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::layer) enum Piece {
    Thought(String),
    Answer(String),
}

/// The meaning of a whole reply.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::layer) enum Reading {
    /// A tool is called.
    Call(Call),
    /// The call was cut.
    Cut(Call),
    /// All pieces of the answer were handed out.
    Answer,
    /// The user is asked.
    Ask(String),
    /// There is neither action nor answer; the text is what was said.
    Unclear(Fault, String),
}

/// The reason why a reply means nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::layer) enum Fault {
    /// It has no marker.
    NoMarker,
    /// It thinks, and does nothing.
    ThoughtOnly,
    /// It says that it uses no tool, and does not answer.
    NoAction,
    /// Its action cannot be read.
    BadAction,
    /// It says nothing.
    Blank,
}

pub(in crate::layer) struct Parser {
    tools: Arc<ToolSet>,
    is_lenient: bool,
    /// The text that is not read yet begins at `at`.
    text: String,
    at: usize,
    state: State,
    at_line_start: bool,
    in_fence: bool,
    /// Text before any marker.
    unmarked: String,
    thought: Shown,
    answer: Shown,
    asked: String,
    /// The length of an action at which it is read again.
    next: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No marker yet, or a thought was closed.
    Open,
    Thought(Form),
    Answer(Form),
    Ask(Form),
    /// All text from `at` on is the action.
    Action(Form),
    /// The same, and the action is complete.
    Acted(Form),
    Done,
}

/// A text as it is shown, without white space around it.
#[derive(Default)]
struct Shown {
    text: String,
    /// White space that is shown if more follows.
    spaces: String,
    /// False until something but white space came.
    has_begun: bool,
}

impl Shown {
    fn push(&mut self, text: &str) -> Option<String> {
        let text = if self.has_begun { text } else { text.trim_start() };
        let body = text.trim_end();
        if body.is_empty() {
            if self.has_begun {
                self.spaces.push_str(text);
            }
            return None;
        }
        self.has_begun = true;
        let mut piece = std::mem::take(&mut self.spaces);
        piece.push_str(body);
        self.spaces.push_str(text.get(body.len()..).unwrap_or_default());
        self.text.push_str(&piece);
        Some(piece)
    }
}

impl Parser {
    pub(in crate::layer) fn new(tools: Arc<ToolSet>, is_lenient: bool) -> Self {
        Self {
            tools,
            is_lenient,
            text: String::new(),
            at: 0,
            state: State::Open,
            at_line_start: true,
            in_fence: false,
            unmarked: String::new(),
            thought: Shown::default(),
            answer: Shown::default(),
            asked: String::new(),
            next: 0,
        }
    }

    fn reader(&self) -> Reader<'_> {
        Reader { tools: &self.tools, is_lenient: self.is_lenient }
    }

    /// True if what follows is none of the reply.
    pub(in crate::layer) fn is_done(&self) -> bool {
        matches!(self.state, State::Done | State::Acted(_))
    }

    /// The texts so far, without markers: the answer, or what was said before one.
    pub(in crate::layer) fn said(&self) -> String {
        let said = [&self.thought.text, self.unmarked.trim(), &self.answer.text, self.asked.trim()];
        said.into_iter()
            .filter(|text| !text.is_empty())
            .map(ToOwned::to_owned)
            .collect::<Vec<String>>()
            .join("\n")
    }

    /// True if a fence is open where the text ends.
    pub(in crate::layer) fn is_in_fence(&self) -> bool {
        self.in_fence
    }

    /// The thoughts so far.
    pub(in crate::layer) fn thought(&self) -> &str {
        &self.thought.text
    }

    /// The answer so far.
    pub(in crate::layer) fn answer(&self) -> &str {
        &self.answer.text
    }

    /// Takes a text for the answer.
    pub(in crate::layer) fn say_answer(&mut self, text: &str) {
        let _shown = self.answer.push(text);
    }

    /// The text without a marker, of which nothing was shown yet, or else the thought.
    pub(in crate::layer) fn unsaid(&self) -> String {
        match self.unmarked.trim() {
            "" => self.thought.text.clone(),
            unmarked => unmarked.to_owned(),
        }
    }

    /// Takes the next piece of the reply.
    pub(in crate::layer) fn push(&mut self, text: &str) -> Vec<Piece> {
        let mut pieces = Vec::new();
        if self.is_done() {
            return pieces;
        }
        if self.at > 4096 && self.at * 2 > self.text.len() {
            self.text.drain(..self.at);
            self.at = 0;
        }
        self.text.push_str(text);
        while self.step(false, &mut pieces) {}
        if let State::Action(form) = self.state {
            let rest = self.text.get(self.at..).unwrap_or_default();
            if rest.len() >= self.next {
                self.next = rest.len() + rest.len() / 8 + 1;
                // The text after a complete action is ignored, whenever that is noticed.
                if matches!(self.reader().action(rest, form, false), Action::Call(_) | Action::Answer(_)) {
                    self.state = State::Acted(form);
                }
            }
        }
        pieces
    }

    /// The end of the reply. `is_cut` says that it reached a limit.
    pub(in crate::layer) fn finish(&mut self, is_cut: bool) -> (Vec<Piece>, Reading) {
        let mut pieces = Vec::new();
        while self.step(true, &mut pieces) {}
        let reading = match self.state {
            State::Action(form) | State::Acted(form) => self.acted(form, is_cut, &mut pieces),
            _ => self.unacted(&mut pieces),
        };
        (pieces, reading)
    }

    fn acted(&mut self, form: Form, is_cut: bool, pieces: &mut Vec<Piece>) -> Reading {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let is_complete = !matches!(self.reader().action(rest, form, false), Action::More);
        match self.reader().action(rest, form, true) {
            Action::Call(call) if is_cut && !is_complete => Reading::Cut(call),
            Action::Call(call) => Reading::Call(call),
            Action::Cut(call) => Reading::Cut(call),
            Action::Answer(text) => self.take_answer(&text, pieces),
            Action::None(length) => {
                // Nothing but an answer with its marker may follow.
                let mut rest = rest.get(length..).unwrap_or_default().trim_start();
                if matches!(look(rest, true), Look::Found(Marker::Input, ..)) {
                    rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
                }
                let mut behind = Self::new(Arc::clone(&self.tools), self.is_lenient);
                let _shown = behind.push(rest);
                let (_, reading) = behind.finish(is_cut);
                match reading {
                    Reading::Answer | Reading::Ask(_) => {
                        pieces.extend(self.answer.push(&behind.answer.text).map(Piece::Answer));
                        reading
                    }
                    _ => Reading::Unclear(Fault::NoAction, self.said()),
                }
            }
            Action::Unclear | Action::More => Reading::Unclear(Fault::BadAction, self.said()),
        }
    }

    fn unacted(&mut self, pieces: &mut Vec<Piece>) -> Reading {
        if !self.asked.trim().is_empty() {
            return Reading::Ask(self.asked.trim().to_owned());
        }
        if !self.answer.text.is_empty() {
            return Reading::Answer;
        }
        let found = self.reader().whole(&self.unmarked);
        let found = found.or_else(|| self.reader().whole(last_block(&self.thought.text)?));
        match found {
            Some(Action::Call(call)) => return Reading::Call(call),
            Some(Action::Answer(text)) => return self.take_answer(&text, pieces),
            _ => {}
        }
        let fault = match (self.unmarked.trim().is_empty(), self.thought.text.is_empty()) {
            (false, _) => Fault::NoMarker,
            (true, false) => Fault::ThoughtOnly,
            (true, true) => Fault::Blank,
        };
        Reading::Unclear(fault, self.said())
    }

    fn take_answer(&mut self, text: &str, pieces: &mut Vec<Piece>) -> Reading {
        pieces.extend(self.answer.push(text).map(Piece::Answer));
        match self.answer.text.is_empty() {
            true => Reading::Unclear(Fault::Blank, self.said()),
            false => Reading::Answer,
        }
    }

    /// Reads on. False if more text is needed first.
    fn step(&mut self, is_all: bool, pieces: &mut Vec<Piece>) -> bool {
        let closing = match self.state {
            State::Done | State::Action(_) | State::Acted(_) => return false,
            State::Thought(Form::Tag) => Some(Marker::Thought),
            State::Answer(Form::Tag) => Some(Marker::Answer),
            State::Ask(Form::Tag) => Some(Marker::Ask),
            _ => None,
        };
        let rest = self.text.get(self.at..).unwrap_or_default();
        if rest.is_empty() {
            return false;
        }
        if self.at_line_start {
            return self.line_start(is_all, closing.is_some(), pieces);
        }
        let (line, ends) = match rest.find('\n') {
            Some(end) => (rest.get(..=end).unwrap_or_default(), true),
            None => (rest, is_all),
        };
        let closing = closing.filter(|_| !self.in_fence);
        let closed = closing.and_then(|marker| find_any(line, closings(marker)));
        if let Some((place, length)) = closed {
            let text = line.get(..place).unwrap_or_default().to_owned();
            self.at += place + length;
            self.say(&text, pieces);
            self.state = if closing == Some(Marker::Thought) { State::Open } else { State::Done };
            self.at_line_start = true;
            return true;
        }
        let held = match closing {
            Some(marker) if !ends => held_back(line, closings(marker)),
            _ => 0,
        };
        let text = line.get(..line.len() - held).unwrap_or_default().to_owned();
        if text.is_empty() {
            return false;
        }
        self.at += text.len();
        self.at_line_start = text.ends_with('\n');
        self.say(&text, pieces);
        true
    }

    /// Looks at the beginning of a line.
    fn line_start(&mut self, is_all: bool, is_inside_tag: bool, pieces: &mut Vec<Piece>) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let bare = rest.trim_start_matches(' ');
        let may_be_fence = rest.len() - bare.len() <= 3;
        if may_be_fence && !is_all && bare.len() < 3 && bare.chars().all(|c| c == '`') {
            return false;
        }
        if may_be_fence && bare.starts_with("```") {
            self.in_fence = !self.in_fence;
            self.at_line_start = false;
            return true;
        }
        if self.in_fence || is_inside_tag {
            self.at_line_start = false;
            return true;
        }
        match look(rest, is_all) {
            Look::More => false,
            Look::Text => {
                self.at_line_start = false;
                true
            }
            Look::Found(marker, form, length) => self.enter(marker, form, length, is_all, pieces),
        }
    }

    /// Meets a marker. False if more text is needed to know what it means.
    fn enter(
        &mut self,
        marker: Marker,
        form: Form,
        length: usize,
        is_all: bool,
        pieces: &mut Vec<Piece>,
    ) -> bool {
        let next = match (self.state, marker) {
            (State::Open | State::Thought(_), Marker::Thought) => Some(State::Thought(form)),
            (State::Open | State::Thought(_), Marker::Action) => Some(State::Action(form)),
            (State::Open | State::Thought(_), Marker::Answer) => Some(State::Answer(form)),
            (State::Open | State::Thought(_), Marker::Ask) => Some(State::Ask(form)),
            (State::Open | State::Thought(_), Marker::Input) => None,
            // An answer may have headings of its own.
            (State::Answer(_), Marker::Answer | Marker::Input | Marker::Ask) => None,
            (State::Answer(_), Marker::Action) if form == Form::Label => {
                let behind = self.text.get(self.at + length..).unwrap_or_default();
                let line = behind.lines().next().unwrap_or_default();
                if !behind.contains('\n') && !is_all {
                    return false;
                }
                let name = line.split('(').next().unwrap_or_default();
                self.reader().known(&super::action::bare_name(name)).map(|_| State::Done)
            }
            // The words of the tool are not the model's to say.
            (_, _) => Some(State::Done),
        };
        let Some(next) = next else {
            self.at_line_start = false;
            return true;
        };
        let unmarked = std::mem::take(&mut self.unmarked);
        if next == State::Done {
            self.unmarked = unmarked;
        } else if !unmarked.trim().is_empty() {
            // Words before the first marker lead to it.
            pieces.extend(self.thought.push(&unmarked).map(Piece::Thought));
        }
        if matches!(next, State::Thought(_)) && !self.thought.text.is_empty() {
            self.thought.spaces = "\n".to_owned();
            self.thought.has_begun = false;
        }
        self.at += length;
        self.at_line_start = false;
        self.state = next;
        true
    }

    fn say(&mut self, text: &str, pieces: &mut Vec<Piece>) {
        match self.state {
            State::Open => self.unmarked.push_str(text),
            State::Thought(_) => pieces.extend(self.thought.push(text).map(Piece::Thought)),
            State::Answer(_) => pieces.extend(self.answer.push(text).map(Piece::Answer)),
            State::Ask(_) => self.asked.push_str(text),
            State::Action(_) | State::Acted(_) | State::Done => {}
        }
    }
}

/// The JSON with which a text ends, from the beginning of a line, with its fence.
fn last_block(text: &str) -> Option<&str> {
    let mut at = text.len();
    let mut block = None;
    for line in text.split_inclusive('\n').rev().take(200) {
        at -= line.len();
        if line.trim_start().starts_with(['{', '`']) {
            block = text.get(at..);
        }
        if line.trim_start().starts_with('{') && line.trim() != "{" && block.is_some() {
            // A fence may stand one line above.
            let above = text.get(..at).unwrap_or_default().trim_end_matches('\n');
            let fence = above.rsplit('\n').next().filter(|line| line.trim_start().starts_with("```"));
            return fence.and_then(|fence| text.get(above.len() - fence.len()..)).or(block);
        }
    }
    block
}
