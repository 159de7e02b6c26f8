package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strconv"
	"time"
)

const (
	contentType   = "application/x-amz-json-1.0"
	signedHeaders = "content-type;host;x-amz-date;x-amz-target"
	algorithm     = "AWS4-HMAC-SHA256"
)

// A signer builds signed requests of one connection. The time changes with the second, the key
// with the day; everything else is made once.
type signer struct {
	task      Task
	second    int64
	stamp     string
	scope     string
	mac       hash.Hash
	canonical []byte
	request   []byte
}

func (s *signer) tick() {
	now := time.Now().UTC()
	if now.Unix() == s.second {
		return
	}
	s.second = now.Unix()
	s.stamp = now.Format("20060102T150405Z")
	scope := s.stamp[:8] + "/" + s.task.Region + "/sqs/aws4_request"
	if scope == s.scope {
		return
	}
	s.scope = scope
	key := []byte("AWS4" + s.task.Secret)
	for _, part := range []string{s.stamp[:8], s.task.Region, "sqs", "aws4_request"} {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	s.mac = hmac.New(sha256.New, key)
}

func appendDigest(to []byte, of []byte) []byte {
	digest := sha256.Sum256(of)
	return hex.AppendEncode(to, digest[:])
}

func (s *signer) signature(target string, body []byte) []byte {
	text := s.canonical[:0]
	text = append(text, "POST\n/\n\ncontent-type:"+contentType+"\nhost:"...)
	text = append(text, s.task.Address...)
	text = append(text, "\nx-amz-date:"...)
	text = append(text, s.stamp...)
	text = append(text, "\nx-amz-target:"...)
	text = append(text, target...)
	text = append(text, "\n\n"+signedHeaders+"\n"...)
	text = appendDigest(text, body)
	s.canonical = text
	var room [192]byte
	signed := append(room[:0], algorithm+"\n"...)
	signed = append(signed, s.stamp...)
	signed = append(signed, '\n')
	signed = append(signed, s.scope...)
	signed = append(signed, '\n')
	signed = appendDigest(signed, text)
	s.mac.Reset()
	s.mac.Write(signed)
	return hex.AppendEncode(nil, s.mac.Sum(room[:0]))
}

// build returns the whole request; it is valid until the next call.
func (s *signer) build(target string, body []byte) []byte {
	s.tick()
	signature := s.signature(target, body)
	to := append(s.request[:0], "POST / HTTP/1.1\r\nHost: "...)
	to = append(to, s.task.Address...)
	to = append(to, "\r\nContent-Type: "+contentType+"\r\nX-Amz-Target: "...)
	to = append(to, target...)
	to = append(to, "\r\nX-Amz-Date: "...)
	to = append(to, s.stamp...)
	to = append(to, "\r\nAuthorization: "+algorithm+" Credential="...)
	to = append(to, s.task.KeyID...)
	to = append(to, '/')
	to = append(to, s.scope...)
	to = append(to, ", SignedHeaders="+signedHeaders+", Signature="...)
	to = append(to, signature...)
	to = append(to, "\r\nContent-Length: "...)
	to = strconv.AppendInt(to, int64(len(body)), 10)
	to = append(to, "\r\n\r\n"...)
	s.request = append(to, body...)
	return s.request
}
