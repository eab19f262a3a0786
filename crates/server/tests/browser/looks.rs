//! The things that are seen: the first picture, sizes and colours, text that grows, narrow places.

use super::scenario;

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
async fn what_is_folded_out_stays_where_it_was() {
    scenario("what_is_folded_out_stays_where_it_was").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cited_row_of_a_table_is_marked() {
    scenario("a_cited_row_of_a_table_is_marked").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_versions_of_a_message_are_seen() {
    scenario("other_versions_of_a_message_are_seen").await;
}
