// Package browser tests the pages of the web console in a real browser: Debian's
// chromium-headless-shell, or the program that GC_TEST_BROWSER names. The cities are those of package
// citytest, so no agent is a process. testdata has axe-core 4.14.1, which finds what people with
// disabilities cannot use.
package browser
