// The JavaScript SDK as its users have it: default settings, digest checks on.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import {
  CreateQueueCommand,
  DeleteMessageBatchCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  QueueDoesNotExist,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";

const BATCH = 10;
const sqs = new SQSClient({ endpoint: process.env.AWS_ENDPOINT_URL_SQS });

async function newQueue(attributes = {}) {
  const suffix = attributes.FifoQueue === "true" ? ".fifo" : "";
  const name = `js-${randomUUID()}${suffix}`;
  const { QueueUrl } = await sqs.send(
    new CreateQueueCommand({ QueueName: name, Attributes: attributes }),
  );
  return QueueUrl;
}

async function receive(QueueUrl, options = {}) {
  const { Messages } = await sqs.send(
    new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: BATCH, ...options }),
  );
  return Messages ?? [];
}

test("a batch of ten arrives and is deleted as a batch", async () => {
  const QueueUrl = await newQueue();
  const Entries = Array.from({ length: BATCH }, (_, n) => ({
    Id: `entry-${n}`,
    MessageBody: `body ${n} — ünïcödé 🕊`,
  }));
  const sent = await sqs.send(new SendMessageBatchCommand({ QueueUrl, Entries }));
  assert.equal(sent.Successful.length, BATCH);
  assert.equal(sent.Failed, undefined);
  const messages = await receive(QueueUrl);
  assert.deepEqual(
    messages.map((message) => message.Body).sort(),
    Entries.map((entry) => entry.MessageBody).sort(),
  );
  const deleted = await sqs.send(
    new DeleteMessageBatchCommand({
      QueueUrl,
      Entries: messages.map(({ ReceiptHandle }, n) => ({ Id: `${n}`, ReceiptHandle })),
    }),
  );
  assert.equal(deleted.Successful.length, BATCH);
});

test("a FIFO queue keeps the order of a group and answers a repeat with the first id", async () => {
  const QueueUrl = await newQueue({ FifoQueue: "true" });
  const send = (body, id) =>
    sqs.send(
      new SendMessageCommand({
        QueueUrl,
        MessageBody: body,
        MessageGroupId: "group",
        MessageDeduplicationId: id,
      }),
    );
  const first = await send("0", "id-0");
  const repeat = await send("0", "id-0");
  assert.equal(repeat.MessageId, first.MessageId);
  assert.equal(repeat.SequenceNumber, first.SequenceNumber);
  for (let n = 1; n < BATCH; n += 1) {
    await send(`${n}`, `id-${n}`);
  }
  const messages = await receive(QueueUrl);
  assert.deepEqual(
    messages.map((message) => message.Body),
    Array.from({ length: BATCH }, (_, n) => `${n}`),
  );
  assert.deepEqual(await receive(QueueUrl), []);
});

test("binary, string and number attributes come back as they were sent", async () => {
  const QueueUrl = await newQueue();
  const bytes = Uint8Array.from({ length: 256 }, (_, n) => n);
  const MessageAttributes = {
    bytes: { DataType: "Binary", BinaryValue: bytes },
    picture: { DataType: "Binary.png", BinaryValue: bytes.slice(0, 3) },
    name: { DataType: "String", StringValue: "Grüße" },
    count: { DataType: "Number", StringValue: "42.5" },
  };
  const sent = await sqs.send(
    new SendMessageCommand({ QueueUrl, MessageBody: "attributes", MessageAttributes }),
  );
  const [message] = await receive(QueueUrl, { MessageAttributeNames: ["All"] });
  assert.equal(message.MD5OfMessageAttributes, sent.MD5OfMessageAttributes);
  assert.deepEqual(Uint8Array.from(message.MessageAttributes.bytes.BinaryValue), bytes);
  assert.equal(message.MessageAttributes.picture.DataType, "Binary.png");
  assert.equal(message.MessageAttributes.name.StringValue, "Grüße");
  assert.equal(message.MessageAttributes.count.StringValue, "42.5");
});

test("a long poll is answered by a message that is sent while it waits", async () => {
  const QueueUrl = await newQueue();
  const poll = receive(QueueUrl, { WaitTimeSeconds: 20 });
  await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: "awaited" }));
  const [message] = await poll;
  assert.equal(message.Body, "awaited");
  await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: message.ReceiptHandle }));
  const { Attributes } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["All"] }),
  );
  assert.equal(Attributes.ApproximateNumberOfMessages, "0");
  assert.equal(Attributes.ApproximateNumberOfMessagesNotVisible, "0");
});

test("a missing queue is the SDK's own typed error", async () => {
  const QueueUrl = await newQueue();
  await assert.rejects(receive(`${QueueUrl}-missing`), QueueDoesNotExist);
});

test("a wrong digest is noticed, so the checks of the SDK are on", async () => {
  const QueueUrl = await newQueue();
  const tampering = new SQSClient({ endpoint: process.env.AWS_ENDPOINT_URL_SQS });
  tampering.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      result.output.MD5OfMessageBody = "0".repeat(32);
      return result;
    },
    { step: "build", name: "tamper" },
  );
  await assert.rejects(
    tampering.send(new SendMessageCommand({ QueueUrl, MessageBody: "tampered" })),
    /InvalidChecksumError/,
  );
});
