package main

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"syscall"
	"time"
)

// variables are the values of a repeated flag.
type variables []string

func (v *variables) String() string { return strings.Join(*v, " ") }

func (v *variables) Set(s string) error {
	*v = append(*v, s)
	return nil
}

// makeImage packs a folder as an image of one layer, in the format of docker save, which
// containerd imports.
func makeImage(args []string) (err error) {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	out := flags.String("o", "", "the archive to write")
	name := flags.String("t", "", "the image's name, with its registry")
	user := flags.String("user", "", "who runs in it")
	entrypoint := flags.String("entrypoint", "", "the program that runs in it")
	env := variables{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	flags.Var(&env, "env", "a variable, NAME=VALUE")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 || *out == "" || *name == "" {
		return errors.New("usage: kit image -o OUT -t NAME FOLDER")
	}
	layer, err := os.CreateTemp(filepath.Dir(*out), "layer")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, layer.Close(), os.Remove(layer.Name())) }()
	sum := sha256.New()
	if err := packFolder(io.MultiWriter(layer, sum), flags.Arg(0)); err != nil {
		return err
	}
	config := map[string]any{"Env": env, "WorkingDir": "/", "User": *user}
	if *entrypoint != "" {
		config["Entrypoint"] = []string{*entrypoint}
	}
	return writeImage(*out, *name, layer, map[string]any{
		"architecture": goruntime.GOARCH, "os": "linux", "created": "1970-01-01T00:00:00Z", "config": config,
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(sum.Sum(nil))}},
	})
}

func writeImage(out, name string, layer *os.File, config map[string]any) (err error) {
	described, err := json.Marshal(config)
	if err != nil {
		return err
	}
	manifest, err := json.Marshal([]any{map[string]any{"Config": "config.json", "RepoTags": []string{name}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return err
	}
	size, err := layer.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := layer.Seek(0, io.SeekStart); err != nil {
		return err
	}
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	archive := tar.NewWriter(file)
	for _, part := range []struct {
		name    string
		size    int64
		content io.Reader
	}{
		{"config.json", int64(len(described)), strings.NewReader(string(described))},
		{"manifest.json", int64(len(manifest)), strings.NewReader(string(manifest))},
		{"layer.tar", size, layer},
	} {
		if err := archive.WriteHeader(&tar.Header{Name: part.name, Mode: 0o644, Size: part.size}); err != nil {
			return err
		}
		if _, err := io.Copy(archive, part.content); err != nil {
			return err
		}
	}
	return archive.Close()
}

// packFolder writes a folder with owners, modes and links, and without times: the same
// folder is the same layer.
func packFolder(w io.Writer, root string) error {
	archive := tar.NewWriter(w)
	linked := map[uint64]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		return packEntry(archive, root, path, entry, linked)
	})
	return errors.Join(err, archive.Close())
}

func packEntry(archive *tar.Writer, root, path string, entry fs.DirEntry, linked map[uint64]string) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	link := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		if link, err = os.Readlink(path); err != nil {
			return err
		}
	}
	header, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	if header.Name, err = filepath.Rel(root, path); err != nil {
		return err
	}
	header.Uname, header.Gname, header.Format = "", "", tar.FormatPAX
	header.ModTime, header.AccessTime, header.ChangeTime = time.Unix(0, 0), time.Time{}, time.Time{}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && info.Mode().IsRegular() && owner.Nlink > 1 {
		if first, ok := linked[owner.Ino]; ok {
			header.Typeflag, header.Linkname, header.Size = tar.TypeLink, first, 0
		} else {
			linked[owner.Ino] = header.Name
		}
	}
	if err := archive.WriteHeader(header); err != nil || header.Typeflag != tar.TypeReg {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(archive, file)
	return errors.Join(err, file.Close())
}
