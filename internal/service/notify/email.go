package notify

import (
	"bytes"
	"context"
	"crypto/tls"
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
	c, err := s.connect(ctx)
	if err != nil {
		return smtpError(err)
	}
	defer c.Close()
	if err := s.transfer(c, password, text); err != nil {
		return smtpError(err)
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
	secure := &tls.Config{}
	if s.env.TLS != nil {
		secure = s.env.TLS.Clone()
	}
	secure.ServerName, secure.MinVersion = host, tls.VersionTLS12
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
			return err
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

// smtpError converts an error of the SMTP server. An answer 5xx becomes a final error, after which the message is not tried
// again.
func smtpError(err error) error {
	if answer, ok := errors.AsType[*textproto.Error](err); ok {
		return &SendError{Err: fmt.Errorf("the server answered %w", answer), Final: answer.Code >= 500}
	}
	return err
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
