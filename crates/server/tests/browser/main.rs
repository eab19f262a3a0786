//! The chat in a real browser: Debian's Chromium, driven by playwright-core. Each scenario is a function of a
//! program under `tests/real/web`, with a server of its own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a broken expectation is a failed test"
)]

mod stage;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tokio::net::TcpListener;

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/real/web").join(name)
}

/// The packages of `tests/real/web/package-lock.json`, which `cargo xtask counterparts` installs.
fn packages() -> PathBuf {
    let base = Path::new(env!("CARGO_TARGET_TMPDIR")).join("node");
    let wanted = fs::read_to_string(script("package-lock.json")).unwrap();
    let is_there = fs::read_to_string(base.join("web.ready")).is_ok_and(|packages| packages == wanted);
    assert!(is_there, "the packages of tests/real/web are not installed: cargo xtask counterparts");
    base.join("web")
}

/// Runs a scenario against a server.
async fn scenario(name: &str) {
    let packages = packages();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let served = tokio::spawn(stage::server(name).serve(listener, std::future::pending::<()>()));
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).join("web-pictures");
    fs::create_dir_all(&pictures).unwrap();
    let mut command = Command::new("node");
    command
        .arg(script("chat.mjs"))
        .args([name, &address])
        .env("PACKAGES", &packages)
        .env("PICTURES", &pictures)
        .stdin(Stdio::null());
    // It ends by itself after a while.
    let done = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    served.abort();
    let said = [done.stdout, done.stderr].concat();
    assert!(done.status.success(), "{name}:\n{}", String::from_utf8_lossy(&said));
}

// A71
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_stream_and_stay_in_sight() {
    scenario("answers_stream_and_stay_in_sight").await;
}

// A62, A71
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_stopped() {
    scenario("an_answer_is_stopped").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_in_mid_stream_goes_on() {
    scenario("a_reload_in_mid_stream_goes_on").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_tab_sees_the_same() {
    scenario("a_second_tab_sees_the_same").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn approvals_survive_a_reload_and_are_decided() {
    scenario("approvals_survive_a_reload_and_are_decided").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decision_is_taken_once() {
    scenario("a_decision_is_taken_once").await;
}

// A54, A61
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_of_the_page_are_called_once() {
    scenario("tools_of_the_page_are_called_once").await;
}

// A58
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_of_the_page_may_ask_be_skipped_and_fail() {
    scenario("a_tool_of_the_page_may_ask_be_skipped_and_fail").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_say_what_to_do() {
    scenario("failures_say_what_to_do").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thinking_and_tools_fold() {
    scenario("thinking_and_tools_fold").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_says_how_far_it_has_come() {
    scenario("a_call_says_how_far_it_has_come").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn markdown_is_more_than_words() {
    scenario("markdown_is_more_than_words").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_of_all_kinds_are_shown() {
    scenario("documents_of_all_kinds_are_shown").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_chat_says_how_to_begin() {
    scenario("an_empty_chat_says_how_to_begin").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_asked_for() {
    scenario("a_key_is_asked_for").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_wait_their_turn() {
    scenario("messages_wait_their_turn").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn citations_open_their_passage() {
    scenario("citations_open_their_passage").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_keyboard_is_enough() {
    scenario("the_keyboard_is_enough").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_input_method_sends_nothing() {
    scenario("an_input_method_sends_nothing").await;
}

// A75
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_text_does_nothing() {
    scenario("hostile_text_does_nothing").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hostile_page_changes_nothing() {
    scenario("a_hostile_page_changes_nothing").await;
}

// A72, A81
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_widget_opens_and_goes() {
    scenario("the_widget_opens_and_goes").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_connection_is_told() {
    scenario("a_lost_connection_is_told").await;
}

// A77
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn languages_change_at_once() {
    scenario("languages_change_at_once").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_keeps_people_out() {
    scenario("nothing_keeps_people_out").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_telephone_has_room() {
    scenario("a_telephone_has_room").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paper_has_the_conversation_alone() {
    scenario("paper_has_the_conversation_alone").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pictures_are_made() {
    scenario("pictures_are_made").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_answers_stay_quick() {
    scenario("long_answers_stay_quick").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_is_written_anew() {
    scenario("a_question_is_written_anew").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_attached_within_limits() {
    scenario("files_are_attached_within_limits").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_are_found_renamed_and_deleted() {
    scenario("sessions_are_found_renamed_and_deleted").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_citation_opens_a_pdf_at_its_page() {
    scenario("a_citation_opens_a_pdf_at_its_page").await;
}

// A60
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_of_the_browser_need_leave() {
    scenario("tools_of_the_browser_need_leave").await;
}

// A72, A73
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_and_facts_are_asked_for_each_time() {
    scenario("headers_and_facts_are_asked_for_each_time").await;
}

// A72, A73
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_drives_the_chat() {
    scenario("the_page_drives_the_chat").await;
}

// A59, A81
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_demo_fills_its_cart() {
    scenario("the_demo_fills_its_cart").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pictures_of_other_places_are_made() {
    scenario("pictures_of_other_places_are_made").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_keys_of_the_guide_do_what_it_says() {
    scenario("the_keys_of_the_guide_do_what_it_says").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_and_cost_are_those_of_the_prices() {
    scenario("tokens_and_cost_are_those_of_the_prices").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thoughts_that_a_provider_keeps_have_a_label_only() {
    scenario("thoughts_that_a_provider_keeps_have_a_label_only").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_do_not_end_well_say_how() {
    scenario("calls_that_do_not_end_well_say_how").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_beside_a_decision_waits() {
    scenario("a_question_beside_a_decision_waits").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_behind_a_failure_can_be_said() {
    scenario("what_waits_behind_a_failure_can_be_said").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_is_seen_and_may_fail() {
    scenario("an_upload_is_seen_and_may_fail").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_names_its_sources_with_their_pages() {
    scenario("an_answer_names_its_sources_with_their_pages").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_model_makes_stands_once() {
    scenario("what_the_model_makes_stands_once").await;
}

// A77
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_language_is_that_of_the_reader_or_of_the_page() {
    scenario("the_language_is_that_of_the_reader_or_of_the_page").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_of_tools_are_answered() {
    scenario("questions_of_tools_are_answered").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn details_that_are_hidden_are_not_there() {
    scenario("details_that_are_hidden_are_not_there").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_answers_tell_their_cost_once_they_are_seen() {
    scenario("old_answers_tell_their_cost_once_they_are_seen").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_of_an_agent_inside_is_decided() {
    scenario("a_call_of_an_agent_inside_is_decided").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_page_holds_the_chat_in_a_frame() {
    scenario("no_page_holds_the_chat_in_a_frame").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_may_holds_the_chat_in_a_frame() {
    scenario("a_page_that_may_holds_the_chat_in_a_frame").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_another_origin_is_not_answered() {
    scenario("a_page_of_another_origin_is_not_answered").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_page_takes_back_is_gone() {
    scenario("what_a_page_takes_back_is_gone").await;
}

// A58
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_of_the_page_returns_a_picture() {
    scenario("a_tool_of_the_page_returns_a_picture").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_moves_keeps_its_chat() {
    scenario("a_page_that_moves_keeps_its_chat").await;
}

// A72
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_element_that_is_gone_does_nothing() {
    scenario("an_element_that_is_gone_does_nothing").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_element_that_moves_goes_on() {
    scenario("an_element_that_moves_goes_on").await;
}

// A72
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_element_of_later_has_what_waits() {
    scenario("an_element_of_later_has_what_waits").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_picture_is_quick_and_stays() {
    scenario("the_first_picture_is_quick_and_stays").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sizes_and_colours_are_those_that_were_agreed() {
    scenario("sizes_and_colours_are_those_that_were_agreed").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_written_stays_while_more_comes() {
    scenario("what_is_written_stays_while_more_comes").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn narrow_places_have_room() {
    scenario("narrow_places_have_room").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_place_has_its_chats() {
    scenario("each_place_has_its_chats").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_place_keeps_people_out() {
    scenario("no_place_keeps_people_out").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_nobody_goes_on_with_is_continued() {
    scenario("an_answer_that_nobody_goes_on_with_is_continued").await;
}

// A77
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headings_in_documents_are_in_the_language_of_the_reader() {
    scenario("headings_in_documents_are_in_the_language_of_the_reader").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chats_of_all_days_are_in_the_list() {
    scenario("chats_of_all_days_are_in_the_list").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_other_types_are_not_sent() {
    scenario("files_of_other_types_are_not_sent").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_wants_no_motion_sees_none() {
    scenario("who_wants_no_motion_sees_none").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_lies_below_the_edges_of_a_telephone() {
    scenario("nothing_lies_below_the_edges_of_a_telephone").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn versions_are_known_in_another_browser() {
    scenario("versions_are_known_in_another_browser").await;
}

/// A scenario that nobody runs proves nothing.
#[test]
fn every_scenario_is_run() {
    let programs = ["chat.mjs", "details.mjs", "embedding.mjs", "looks.mjs", "states.mjs", "kept.mjs"]
        .map(|name| fs::read_to_string(script(name)).unwrap());
    let lines = programs.iter().flat_map(|program| program.lines());
    let written = lines.filter_map(|line| line.strip_prefix("scenarios."));
    let written: Vec<_> = written.filter_map(|line| line.split(' ').next()).collect();
    let run = include_str!("main.rs").lines().filter_map(|line| line.trim().strip_prefix("scenario(\""));
    let run: Vec<_> = run.filter_map(|line| line.split('"').next()).collect();
    assert_eq!(written, run);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_beside_an_approval_or_another_tab_waits() {
    scenario("a_question_beside_an_approval_or_another_tab_waits").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_question_that_did_not_arrive_is_asked_again() {
    scenario("a_first_question_that_did_not_arrive_is_asked_again").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_stay_until_they_are_sent() {
    scenario("files_stay_until_they_are_sent").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_of_a_tool_is_skipped_or_ended() {
    scenario("a_question_of_a_tool_is_skipped_or_ended").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_chat_does_not_come_back() {
    scenario("a_deleted_chat_does_not_come_back").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_focus_stays_in_the_chat() {
    scenario("the_focus_stays_in_the_chat").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_letter_that_is_being_written_decides_nothing() {
    scenario("a_letter_that_is_being_written_decides_nothing").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn words_and_files_that_were_not_taken_stay() {
    scenario("words_and_files_that_were_not_taken_stay").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drafts_belong_to_their_chats() {
    scenario("drafts_belong_to_their_chats").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_other_encodings_are_shown_as_they_are() {
    scenario("files_of_other_encodings_are_shown_as_they_are").await;
}
