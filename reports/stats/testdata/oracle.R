# Writes survival.txt and oracle.txt, the data and the figures that oracle_test.go holds
# this package against. CI does not run it: Rscript oracle.R (R with its recommended
# package survival) makes both anew in the working directory.

library(survival)

# One line a group: the name of the data set, the group, and the ends of its
# observations in the order of the data set, as survival texts print them ("13" is an
# event at 13, "13+" a censoring).
sets <- list(
  aml = list(time = aml$time, event = aml$status == 1, group = aml$x),
  lung = list(time = lung$time, event = lung$status == 2, group = c("male", "female")[lung$sex]),
  veteran = list(time = veteran$time, event = veteran$status == 1, group = as.character(veteran$celltype)),
  ovarian = list(time = ovarian$futime, event = ovarian$fustat == 1, group = paste0("rx", ovarian$rx)),
  recurrence = with(subset(colon, etype == 1), list(time = time, event = status == 1, group = as.character(rx))),
  death = with(subset(colon, etype == 2), list(time = time, event = status == 1, group = as.character(rx)))
)
sources <- c(
  "Ends of observations in data sets of R's package survival, a line a group: n is an event at n, n+ a censoring.",
  "aml: weeks to relapse of acute myelogenous leukemia, maintenance chemotherapy or not (Miller 1997, Survival Analysis).",
  "lung: days of survival with advanced lung cancer, by sex (Loprinzi et al. 1994, J. Clin. Oncol. 12:601).",
  "veteran: days of survival with lung cancer, by cell type (Kalbfleisch and Prentice 1980; Veterans' Administration trial).",
  "ovarian: days of survival with ovarian cancer under two treatments (Edmonson et al. 1979, Cancer Treat. Rep. 63:241).",
  "recurrence, death: days to recurrence and to death with colon cancer under three treatments, data set colon (Moertel et al.",
  "1995, Ann. Intern. Med. 122:321). Both list the same patients in the same order.",
  "Made by oracle.R."
)

data <- file("survival.txt", "w")
writeLines(paste("#", sources), data)
for (name in names(sets)) {
  s <- sets[[name]]
  for (g in sort(unique(s$group))) {
    mine <- s$group == g
    writeLines(paste0(name, " ", g, ": ", paste0(s$time[mine], ifelse(s$event[mine], "", "+"), collapse = " ")), data)
  }
}
close(data)

out <- file("oracle.txt", "w")
say <- function(...) writeLines(paste(..., sep = "\t"), out)
num <- function(x) ifelse(is.na(x), "NA", trimws(formatC(x, digits = 12, format = "g")))
say(paste("#", R.version.string, "with survival", packageVersion("survival"), "by oracle.R"))

# Kaplan-Meier with Greenwood's standard error and log-log limits, at times among and
# between the observed ones; then the median with its limits.
say("# km, data set, group, time, at risk, survival, standard error, lower, upper (log-log)")
say("# median, data set, group, median, lower, upper")
for (name in names(sets)) {
  s <- sets[[name]]
  for (g in sort(unique(s$group))) {
    mine <- s$group == g
    fit <- survfit(Surv(s$time[mine], s$event[mine]) ~ 1, conf.type = "log-log")
    first <- min(s$time[mine][s$event[mine]])
    at <- unique(c(first, round(quantile(s$time[mine], seq(.1, 1, .1))), max(s$time[mine])))
    at <- sort(at[at >= first])
    p <- summary(fit, times = at)
    for (i in seq_along(p$time)) {
      say("km", name, g, num(p$time[i]), num(p$n.risk[i]), num(p$surv[i]), num(p$std.err[i]), num(p$lower[i]), num(p$upper[i]))
    }
    m <- quantile(fit, .5)
    say("median", name, g, num(m$quantile), num(m$lower), num(m$upper))
  }
}

say("# logrank, data set, chi2, df, p, observed and expected events by group in alphabetical order")
ps <- c()
for (name in names(sets)) {
  s <- sets[[name]]
  d <- survdiff(Surv(s$time, s$event) ~ s$group)
  df <- length(d$n) - 1
  p <- pchisq(d$chisq, df, lower.tail = FALSE)
  ps <- c(ps, p)
  say("logrank", name, num(d$chisq), df, num(p), paste(num(d$obs), collapse = " "), paste(num(d$exp), collapse = " "))
}
say("# holm, raw, adjusted: those of the log-rank tests in their order, then others")
say("holm", paste(num(ps), collapse = " "), paste(num(p.adjust(ps, "holm")), collapse = " "))
for (p in list(c(.04, .01, .03, .005), c(.5, .5), c(.02, .02, .02, .9), .3)) {
  say("holm", paste(num(p), collapse = " "), paste(num(p.adjust(p, "holm")), collapse = " "))
}

say("# wilson, k, n, lower, upper: prop.test(k, n, correct = FALSE), the events of each data set and edges")
ks <- sapply(sets, function(s) c(sum(s$event), length(s$event)))
pairs <- rbind(t(ks), c(0, 1), c(1, 1), c(0, 10), c(10, 10), c(1, 30), c(29, 30), c(65, 130), c(129, 130), c(130, 130))
for (i in seq_len(nrow(pairs))) {
  w <- suppressWarnings(prop.test(pairs[i, 1], pairs[i, 2], correct = FALSE))$conf.int
  say("wilson", pairs[i, 1], pairs[i, 2], num(w[1]), num(w[2]))
}
say("# untouched, n, lower: binom.test(n, n, alternative = \"greater\")")
for (n in c(1, 3, 5, 10, 30, 59, 130)) {
  say("untouched", n, num(binom.test(n, n, alternative = "greater")$conf.int[1]))
}

# McNemar's exact test on pairs that differ: patients of colon with a recurrence and no
# death, against those with a death and no recurrence; then others.
say("# mcnemar, pairs one way, pairs the other way, p: binom.test")
a <- sets$recurrence$event
b <- sets$death$event
for (d in list(c(sum(a & !b), sum(b & !a)), c(12, 2), c(7, 1), c(5, 12), c(0, 6), c(6, 0), c(3, 3), c(1, 0), c(40, 61), c(250, 310))) {
  say("mcnemar", d[1], d[2], num(binom.test(d[1], sum(d), .5)$p.value))
}
close(out)
