//go:build !unix

package trajectories

import "errors"

func mkfifo(string) error { return errors.ErrUnsupported }
