// Package reports folds results into reports for people and for other programs: tables
// for a terminal, Markdown, HTML, SVG, JSON, CSV, JUnit XML, SARIF, GitLab's code
// quality report and the verdict of a gate. A fold takes one [scenarios.Result] at a
// time and keeps counts. So it needs little memory, and works the same on results as they
// are made and on those of a file.
//
//	var fold reports.Fold
//	err := fold.Read(file, "results.jsonl") // or Add each result of scenarios.Run
//	…
//	report, err := fold.Report()
//	…
//	err = reports.WriteHTML(w, report)
//
// Texts of scenarios, tools, models and trajectories are hostile: all of them pass
// through [text.Line] before they are written.
package reports
