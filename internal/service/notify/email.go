package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"net/textproto"
	"strings"
	"time"

	"gascity/internal/config"
	"gascity/internal/redact"
	"gascity/internal/textfmt"
)

// email is a sink that sends messages by SMTP.
type email struct {
	n   config.Notify
	env Environment
}

// Send sends the message by SMTP. The server's answer to the data confirms it. After an answer 4xx the caller tries again later;
// 5xx is final. It implements [Sender].
func (s email) Send(ctx context.Context, m *Message) error {
	password, err := s.env.secret(ctx, "token", s.n.Token)
	if err != nil {
		return err
	}
	text, err := s.text(m)
	if err != nil {
		return err
	}
	hidden := &redact.Redactor{}
	for _, value := range []string{password, base64.StdEncoding.EncodeToString([]byte("\x00" + s.n.User + "\x00" + password))} {
		hidden.Hide(value)
	}
	c, err := s.connect(ctx)
	if err != nil {
		return smtpError(err, hidden)
	}
	defer c.Close()
	if err := s.transfer(c, password, text); err != nil {
		return smtpError(err, hidden)
	}
	_ = c.Quit() // the server has confirmed the message, so an error does not matter
	return nil
}

// connect opens the connection to the server, encrypted as configured.
func (s email) connect(ctx context.Context) (*smtp.Client, error) {
	host, _, err := net.SplitHostPort(s.n.Server)
	if err != nil {
		return nil, err
	}
	secure := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	var conn net.Conn
	if s.n.TLS == config.NotifyOnlyTLS {
		conn, err = (&tls.Dialer{Config: secure}).DialContext(ctx, "tcp", s.n.Server)
	} else {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", s.n.Server)
	}
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }) // ends a call that waits; fails on a closed connection
	c, err := smtp.NewClient(conn, host)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if s.n.TLS == config.NotifyStartTLS {
		if ok, _ := c.Extension("STARTTLS"); !ok {
			return nil, errors.Join(&SendError{Err: errors.New("the server does not offer STARTTLS"), Final: true}, c.Close())
		}
		if err := c.StartTLS(secure); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// transfer signs in and sends the message.
func (s email) transfer(c *smtp.Client, password string, text []byte) error {
	host, _, err := net.SplitHostPort(s.n.Server)
	if err != nil {
		return err
	}
	if s.n.User != "" {
		if err := c.Auth(smtp.PlainAuth("", s.n.User, password, host)); err != nil {
			return fmt.Errorf("cannot sign in as %s: %w", s.n.User, err)
		}
	}
	if err := c.Mail(bare(s.n.From)); err != nil {
		return err
	}
	for _, to := range s.n.To {
		if err := c.Rcpt(bare(to)); err != nil {
			return err
		}
	}
	data, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := data.Write(text); err != nil {
		return err
	}
	return data.Close()
}

// bare returns the mail address without the person's name: "a@b.c" for "A <a@b.c>".
func bare(address string) string {
	if a, err := mail.ParseAddress(address); err == nil {
		return a.Address
	}
	return address
}

// smtpError makes an answer 5xx final. hidden has the credentials, which a server may repeat in its answer.
func smtpError(err error, hidden *redact.Redactor) error {
	if answer, ok := errors.AsType[*textproto.Error](err); ok {
		masked := &textproto.Error{Code: answer.Code, Msg: hidden.Text(answer.Msg)}
		return &SendError{Err: fmt.Errorf("the server answered %w", masked), Final: answer.Code >= 500}
	}
	return explainCertificate(err)
}

// text returns the message with its headers. No header contains a line end.
func (s email) text(m *Message) ([]byte, error) {
	var b bytes.Buffer
	domain := "gc.invalid"
	if _, host, ok := strings.Cut(bare(s.n.From), "@"); ok {
		domain = host
	}
	to := make([]string, len(s.n.To))
	for i, one := range s.n.To {
		to[i] = header(one)
	}
	for _, pair := range [][2]string{
		{"From", header(s.n.From)},
		{"To", strings.Join(to, ", ")},
		{"Subject", mime.QEncoding.Encode("utf-8", textfmt.OneLine(m.Title))},
		{"Date", m.Items[0].Since.Format(time.RFC1123Z)},
		{"Message-ID", "<" + m.ID + "@" + domain + ">"},
		{"Auto-Submitted", "auto-generated"},
		{"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"},
	} {
		fmt.Fprintf(&b, "%s: %s\r\n", pair[0], pair[1])
	}
	b.WriteString("\r\n")
	body := quotedprintable.NewWriter(&b)
	text := m.Text
	if m.Link != "" {
		text += "\n\n" + m.Link
	}
	if _, err := body.Write([]byte(text + "\n")); err != nil {
		return nil, err
	}
	return b.Bytes(), body.Close()
}

// header returns a mail address in the form of a mail header; empty if it is invalid.
func header(address string) string {
	if a, err := mail.ParseAddress(address); err == nil {
		return a.String()
	}
	return ""
}
