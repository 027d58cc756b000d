#pragma once

#include <string>
#include <string_view>

// Foreign text (names of files, jobs, rows) within the forms that we write.
namespace stepcast::report {

/// A CSV field (RFC 4180): quoted when it holds a comma, a quote or a line break.
[[nodiscard]] std::string csv_field(std::string_view text);

/// Text within a line or a table cell of GitHub-flavoured Markdown: it stands there as it is, line breaks
/// become blanks.
[[nodiscard]] std::string markdown_text(std::string_view text);

/// Text within an XML attribute or element.
[[nodiscard]] std::string xml_text(std::string_view text);

}  // namespace stepcast::report
