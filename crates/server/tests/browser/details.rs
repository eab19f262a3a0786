//! Single promises: the keys of the guide, tokens and cost, hidden reasoning, states of calls, uploads, sources.

use super::scenario;

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
