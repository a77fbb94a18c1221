package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"
)

// recipes returns the blocks of the pages about CI in a language, with their page.
func recipes(t *testing.T, language string) map[string]string {
	t.Helper()
	blocks := map[string]string{}
	for _, page := range []string{"ci.md", "ci-recipes.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
			blocks[fmt.Sprintf("%s, block %d", page, i+1)] = m[1]
		}
	}
	return blocks
}

// The recipes are YAML, and every command of agentbench in them has the flags that it is
// given.
func TestRecipes(t *testing.T) {
	blocks := recipes(t, "yaml")
	if len(blocks) < 6 {
		t.Fatalf("%d recipes: this test looks in the wrong place", len(blocks))
	}
	flag := regexp.MustCompile(`\s(--[a-z-]+|-o)\b`)
	command := regexp.MustCompile(`agentbench (run|gate|validate|report)\b[^|;&'<\n]*`)
	help, commands := map[string]string{}, 0
	for place, block := range blocks {
		d := yaml.NewDecoder(strings.NewReader(block))
		for {
			var any any
			if err := d.Decode(&any); err == io.EOF {
				break
			} else if err != nil {
				t.Errorf("%s: %v", place, err)
				break
			}
		}
	}
	for place, block := range recipes(t, "(?:yaml|groovy)") {
		for _, m := range command.FindAllStringSubmatch(block, -1) {
			commands++
			if help[m[1]] == "" {
				out, err := exec.Command("agentbench", m[1], "--help").Output()
				if err != nil {
					t.Fatal(err)
				}
				help[m[1]] = string(out)
			}
			for _, f := range flag.FindAllStringSubmatch(m[0], -1) {
				if !strings.Contains(help[m[1]], " "+f[1]+" ") && !strings.Contains(help[m[1]], " "+f[1]+",") {
					t.Errorf("%s: agentbench %s has no %s", place, m[1], f[1])
				}
			}
		}
	}
	if commands < 10 {
		t.Errorf("%d commands: this test looks for the wrong thing", commands)
	}
}

// The fields of a Job that the recipe uses, of the reference of the API
// (kubernetes.io/docs/reference/generated/kubernetes-api/v1.33: Job v1 batch and what it
// holds). Reading is strict: a field that is not in it is an error.
type (
	kubeMeta struct {
		Name string `yaml:"name"`
	}
	kubeJob struct {
		APIVersion string   `yaml:"apiVersion"`
		Kind       string   `yaml:"kind"`
		Metadata   kubeMeta `yaml:"metadata"`
		Spec       struct {
			CompletionMode       string        `yaml:"completionMode"` // NonIndexed or Indexed
			Completions          int32         `yaml:"completions"`
			Parallelism          int32         `yaml:"parallelism"`
			BackoffLimitPerIndex *int32        `yaml:"backoffLimitPerIndex"`
			PodFailurePolicy     kubePolicy    `yaml:"podFailurePolicy"`
			Template             kubePodInside `yaml:"template"`
		} `yaml:"spec"`
	}
	kubePolicy struct {
		Rules []struct {
			Action      string `yaml:"action"` // FailJob, FailIndex, Ignore or Count
			OnExitCodes *struct {
				ContainerName string  `yaml:"containerName"`
				Operator      string  `yaml:"operator"` // In or NotIn
				Values        []int32 `yaml:"values"`
			} `yaml:"onExitCodes"`
			OnPodConditions []struct {
				Type   string `yaml:"type"`
				Status string `yaml:"status"`
			} `yaml:"onPodConditions"`
		} `yaml:"rules"`
	}
	kubePodInside struct {
		Spec struct {
			RestartPolicy   string `yaml:"restartPolicy"`
			SecurityContext struct {
				RunAsNonRoot bool  `yaml:"runAsNonRoot"`
				RunAsUser    int64 `yaml:"runAsUser"`
				FSGroup      int64 `yaml:"fsGroup"`
			} `yaml:"securityContext"`
			Volumes []struct {
				Name  string `yaml:"name"`
				Claim struct {
					Name string `yaml:"claimName"`
				} `yaml:"persistentVolumeClaim"`
			} `yaml:"volumes"`
			Containers []struct {
				Name         string `yaml:"name"`
				Image        string `yaml:"image"`
				VolumeMounts []struct {
					Name string `yaml:"name"`
					Path string `yaml:"mountPath"`
				} `yaml:"volumeMounts"`
				Command []string `yaml:"command"`
				Args    []string `yaml:"args"`
			} `yaml:"containers"`
		} `yaml:"spec"`
	}
	kubeClaim struct {
		APIVersion string   `yaml:"apiVersion"`
		Kind       string   `yaml:"kind"`
		Metadata   kubeMeta `yaml:"metadata"`
		Spec       struct {
			AccessModes []string `yaml:"accessModes"`
			Resources   struct {
				Requests map[string]string `yaml:"requests"`
			} `yaml:"resources"`
		} `yaml:"spec"`
	}
)

// kubernetes returns the objects of the recipe for Kubernetes.
func kubernetes(t *testing.T) (claim kubeClaim, job kubeJob) {
	t.Helper()
	for place, block := range recipes(t, "yaml") {
		if !strings.Contains(block, "kind: Job") {
			continue
		}
		d := yaml.NewDecoder(strings.NewReader(block), yaml.Strict())
		if err := errors.Join(d.Decode(&claim), d.Decode(&job)); err != nil {
			t.Fatalf("%s: %v", place, err)
		}
		return claim, job
	}
	t.Fatal("there is no Job in the recipes")
	return
}

// The Job is one that Kubernetes takes: what the API's validation asks of the fields, and
// of their values together.
func TestIndexedJobIsValid(t *testing.T) {
	claim, job := kubernetes(t)
	pod := &job.Spec.Template.Spec
	check := func(ok bool, words string) {
		t.Helper()
		if !ok {
			t.Error(words)
		}
	}
	check(claim.APIVersion == "v1" && claim.Kind == "PersistentVolumeClaim" && slices.Equal(claim.Spec.AccessModes, []string{"ReadWriteMany"}), "the volume can be written from several nodes")
	check(regexp.MustCompile(`^[1-9][0-9]*[KMG]i$`).MatchString(claim.Spec.Resources.Requests["storage"]), "storage is a quantity")
	check(job.APIVersion == "batch/v1" && job.Kind == "Job", "it is a Job")
	check(job.Spec.CompletionMode == "Indexed" && job.Spec.Completions > 0 && job.Spec.Parallelism > 0, "completionMode Indexed needs completions and parallelism")
	check(pod.RestartPolicy == "Never", "podFailurePolicy needs the restartPolicy Never")
	check(job.Spec.BackoffLimitPerIndex != nil && *job.Spec.BackoffLimitPerIndex >= 0, "FailIndex needs backoffLimitPerIndex")
	check(pod.SecurityContext.RunAsNonRoot && pod.SecurityContext.RunAsUser > 0, "runAsNonRoot needs another user than root")
	label := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	volumes, containers := map[string]bool{}, map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
		check(label.MatchString(v.Name) && v.Claim.Name == claim.Metadata.Name, "the volume "+v.Name+" is that of the claim")
	}
	for _, c := range pod.Containers {
		containers[c.Name] = true
		check(label.MatchString(c.Name) && c.Image != "" && len(c.Args) == 1, "the container "+c.Name+" has a name, an image and a script")
		for _, m := range c.VolumeMounts {
			check(volumes[m.Name] && filepath.IsAbs(m.Path), "there is no volume "+m.Name)
		}
	}
	var codes []int32
	for _, rule := range job.Spec.PodFailurePolicy.Rules {
		check(slices.Contains([]string{"FailJob", "FailIndex", "Ignore", "Count"}, rule.Action), "there is no action "+rule.Action)
		check((rule.OnExitCodes == nil) != (rule.OnPodConditions == nil), "a rule has one of onExitCodes and onPodConditions")
		if on := rule.OnExitCodes; on != nil {
			check(containers[on.ContainerName] && on.Operator == "In", "the rule is of a container and a list")
			check(slices.IsSorted(on.Values) && !slices.Contains(on.Values, 0) && len(slices.Compact(slices.Clone(on.Values))) == len(on.Values), "the values are in order, without 0 and none twice")
			codes = append(codes, on.Values...)
		}
	}
	check(slices.Equal(codes, []int32{2, 3}), "bad usage and what could not be judged are tried once")
}

// The script of the Job, as eight processes at once: the parts together are the whole,
// byte for byte and in every figure, in whatever order they come. Its exit codes are those
// that the policy goes by.
func TestIndexedJobRuns(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	_, job := kubernetes(t)
	container := &job.Spec.Template.Spec.Containers[0]
	dir := t.TempDir()
	script := strings.NewReplacer(container.VolumeMounts[0].Path+"/", dir+"/", "--seeds 50", "--seeds 2").Replace(container.Args[0])
	if strings.Count(script, dir) != 1 || strings.Count(script, "--seeds 2") != 1 {
		t.Fatalf("the script has no seeds or no results:\n%s", script)
	}
	pod := func(index int, path string) int {
		cmd := exec.Command(container.Command[0], container.Command[1], script)
		cmd.Env = append(os.Environ(), fmt.Sprintf("JOB_COMPLETION_INDEX=%d", index), "PATH="+path)
		cmd.Run()
		return cmd.ProcessState.ExitCode()
	}
	var pods sync.WaitGroup
	for index := range int(job.Spec.Completions) {
		pods.Go(func() {
			if code := pod(index, os.Getenv("PATH")); code != 0 {
				t.Errorf("index %d: exit code %d", index, code)
			}
		})
	}
	pods.Wait()
	command := func(args string) []byte {
		t.Helper()
		cmd := exec.Command("agentbench", strings.Fields(args)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("agentbench %s: %v\n%s", args, err, out)
		}
		return out
	}
	command("run --seeds 2 -q -o whole.jsonl -o whole.json -o whole.csv")
	command("report 3.jsonl 7.jsonl 0.jsonl 1.jsonl 6.jsonl 4.jsonl 2.jsonl 5.jsonl -q -o parts.jsonl -o parts.json -o parts.csv")
	for _, ending := range []string{".jsonl", ".json", ".csv"} {
		whole, err := os.ReadFile(filepath.Join(dir, "whole"+ending))
		if err != nil {
			t.Fatal(err)
		}
		if parts, err := os.ReadFile(filepath.Join(dir, "parts"+ending)); err != nil || !bytes.Equal(parts, whole) {
			t.Errorf("%s: the parts are not the whole (%v)", ending, err)
		}
	}
	if out := command("gate 0.jsonl 1.jsonl 2.jsonl 3.jsonl 4.jsonl 5.jsonl 6.jsonl 7.jsonl"); !bytes.HasSuffix(out, []byte("gate: pass\n")) {
		t.Errorf("the gate says\n%s", out)
	}
	for code, want := range map[int]int{0: 0, 1: 0, 2: 2, 3: 3, 130: 130} {
		fake := t.TempDir()
		if err := os.WriteFile(filepath.Join(fake, "agentbench"), fmt.Appendf(nil, "#!/bin/sh\nexit %d\n", code), 0o755); err != nil {
			t.Fatal(err)
		}
		if got := pod(0, fake+":"+os.Getenv("PATH")); got != want {
			t.Errorf("where agentbench ends with %d the pod ends with %d, want %d", code, got, want)
		}
	}
}

// The tests that docs/security.md names are there.
func TestSecurityPageNamesTests(t *testing.T) {
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	err = filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllSubmatch(source, -1) {
			there[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w+)`").FindAllSubmatch(page, -1)
	if len(named) < 30 {
		t.Errorf("the page names %d tests: this test looks for the wrong thing", len(named))
	}
	for _, m := range named {
		if !there[string(m[1])] {
			t.Errorf("there is no test %s", m[1])
		}
	}
}
