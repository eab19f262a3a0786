//! Charts: trend lines are told apart from values.

use attache_convert::{Limits, convert};

use crate::common::{DOCX, ODT, docx, relations, zip};

#[track_caller]
fn text(media: &str, bytes: Vec<u8>) -> String {
    convert(media, bytes.into(), &Limits::new()).expect("the document can be read").text
}

/// A series with its trend lines in their place: before its numbers (ECMA-376 part 1, 21.2.2.211).
fn series(name: &str, trends: &str) -> String {
    let name = if name.is_empty() { String::new() } else { format!("<c:tx><c:v>{name}</c:v></c:tx>") };
    let points = |values: [&str; 2]| {
        let points = values.iter().enumerate();
        let points: String =
            points.map(|(at, v)| format!("<c:pt idx='{at}'><c:v>{v}</c:v></c:pt>")).collect();
        format!("<c:strRef><c:strCache>{points}</c:strCache></c:strRef>")
    };
    let (categories, values) = (points(["2025", "2026"]), points(["10", "20"]));
    format!("<c:ser>{name}{trends}<c:cat>{categories}</c:cat><c:val>{values}</c:val></c:ser>")
}

fn chart(series: &str) -> String {
    let chart = format!("<c:chartSpace><c:chart><c:plotArea>{series}</c:plotArea></c:chart></c:chartSpace>");
    text(DOCX, docx("<w:p/>", &[("chart", "chart1.xml", &chart)]))
}

const LINEAR: &str = "<c:trendline><c:name>Forecast</c:name><c:trendlineType val='linear'/><c:forward val='1'/>\
    <c:dispRSqr val='1'/><c:dispEq val='1'/><c:trendlineLbl><c:layout/><c:tx><c:rich><a:p><a:r><a:t>y = 10x</a:t></a:r></a:p>\
    <a:p><a:r><a:t>R² = 1</a:t></a:r></a:p></c:rich></c:tx><c:numFmt formatCode='General'/>\
    <c:txPr><a:p><a:pPr/></a:p></c:txPr></c:trendlineLbl></c:trendline>";

#[test]
fn trend_lines_are_named_and_are_no_values() {
    let mean = "<c:trendline><c:trendlineType val='movingAvg'/><c:period val='2'/></c:trendline>";
    assert_eq!(
        chart(&series("Sales", &(LINEAR.to_owned() + mean))),
        "[chart]\n | Sales\n2025 | 10\n2026 | 20\n[trend line of Sales (linear): Forecast, y = 10x; R² = 1]\n\
         [trend line of Sales (movingAvg)]\n"
    );
    // The equation is no name of a series that has none.
    assert_eq!(
        chart(&series("", LINEAR)),
        "[chart]\n2025 | 10\n2026 | 20\n[trend line (linear): Forecast, y = 10x; R² = 1]\n"
    );
}

#[test]
fn trend_lines_of_open_documents_are_named() {
    let chart = "<office:document-content><office:automatic-styles>\
        <style:style style:name='ch1' style:family='chart'><style:chart-properties chart:regression-type='exponential' \
        loext:regression-name='Growth'/></style:style><style:style style:name='ch2' style:family='chart'>\
        <style:chart-properties chart:regression-type='none'/></style:style></office:automatic-styles>\
        <office:body><office:chart><chart:chart><chart:title><text:p>Costs</text:p></chart:title><chart:plot-area>\
        <chart:series chart:style-name='ch2'><chart:regression-curve chart:style-name='ch1'><chart:equation \
        chart:display-equation='true'/></chart:regression-curve></chart:series></chart:plot-area><table:table>\
        <table:table-row><table:table-cell office:value-type='string'><text:p>North</text:p></table:table-cell>\
        <table:table-cell office:value-type='float' office:value='22.3'><text:p>22,30</text:p></table:table-cell>\
        </table:table-row></table:table></chart:chart></office:chart></office:body></office:document-content>";
    let content = "<office:document-content><office:body><office:text><text:p><draw:frame><draw:object \
        xlink:href='./Object 1'/></draw:frame></text:p></office:text></office:body></office:document-content>";
    let file = zip(&[
        ("mimetype", ODT.as_bytes()),
        ("content.xml", content.as_bytes()),
        ("Object 1/content.xml", chart.as_bytes()),
    ]);
    assert_eq!(text(ODT, file), "[chart: Costs]\nNorth | 22.3\n[trend line (exponential): Growth]\n");
}

#[test]
fn what_is_drawn_into_a_chart_follows_its_values() {
    let shapes = "<c:userShapes><cdr:relSizeAnchor><cdr:sp><cdr:nvSpPr><cdr:cNvPr id='2' name='Box'/></cdr:nvSpPr><cdr:txBody>\
        <a:p><a:r><a:t>Strike in May</a:t></a:r></a:p></cdr:txBody></cdr:sp></cdr:relSizeAnchor></c:userShapes>";
    let drawn = relations(&[("r1", "chartUserShapes", "shapes.xml")]);
    let read = |series: &str| {
        let chart =
            format!("<c:chartSpace><c:chart><c:plotArea>{series}</c:plotArea></c:chart></c:chartSpace>");
        let parts = [
            ("chart", "chart1.xml", &*chart),
            ("other", "_rels/chart1.xml.rels", std::str::from_utf8(&drawn).unwrap()),
            ("other", "shapes.xml", shapes),
        ];
        text(DOCX, docx("<w:p/>", &parts))
    };
    assert_eq!(read(&series("Sales", "")), "[chart]\n | Sales\n2025 | 10\n2026 | 20\nStrike in May\n");
    // Also where the values say nothing.
    assert_eq!(read(""), "Strike in May\n");

    let chart = "<office:document-content><office:body><office:chart><chart:chart><chart:plot-area/><draw:custom-shape>\
        <text:p>Strike in <text:span>May</text:span></text:p></draw:custom-shape><table:table><table:table-row>\
        <table:table-cell office:value-type='string'><text:p>North</text:p></table:table-cell></table:table-row>\
        </table:table></chart:chart></office:chart></office:body></office:document-content>";
    let content = "<office:document-content><office:body><office:text><text:p><draw:frame><draw:object \
        xlink:href='./Object 1'/></draw:frame></text:p></office:text></office:body></office:document-content>";
    let file = zip(&[
        ("mimetype", ODT.as_bytes()),
        ("content.xml", content.as_bytes()),
        ("Object 1/content.xml", chart.as_bytes()),
    ]);
    assert_eq!(text(ODT, file), "[chart]\nNorth\nStrike in May\n");
}
