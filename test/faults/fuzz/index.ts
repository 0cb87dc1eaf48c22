import { Agent } from 'node:http'
import fc from 'fast-check'
import { pick, randomFrom } from '../../support/bundle-mutations.ts'
import { DocumentCheck } from '../../support/document-check.ts'
import { requestsTo, type Operation, type RandomRequest } from '../../support/random-requests/requests.ts'
import { problemOf, send, type ReceivedResponse } from '../../support/random-requests/send.ts'
import { createSubject, type Subject } from '../../support/random-requests/source.ts'
import { makeTemporary, removeTemporary } from '../../support/temporary.ts'
import { textOf, type FaultFailure, type FaultPart, type FaultResult, type FaultRun } from '../part.ts'
import { abuse, ABUSE_AT_ONCE, ABUSED_SETTINGS, overload } from './abuse.ts'
import { countUnnoticed } from './control.ts'
import { OPERATOR_KEY, Target, type Resources } from './target.ts'

/** One case in so many breaks the rules of HTTP, on a server of its own. */
const ABUSE_EVERY = 20
/** What a server may hold more at the end than at the middle of a run. It does not depend on the machine. */
const MAX_GROWTH = { memory: 6 * 1024 * 1024, sockets: 8, descriptors: 64 }
/** Sockets of an idle server: it listens, serves commands, and Node has its own. */
const MAX_SOCKETS = 24
/** A connection that fails is tried again so often: the server may close an idle one at any time. */
const MAX_TRIES = 3
/** Overload is tried again so often if nothing was rejected, which takes a machine that stands still for seconds. */
const MAX_OVERLOADS = 5
/** Requests in a control: most of them reach their operation, so that the document says what is wrong. */
const CONTROL_REQUESTS = 10

/** What one run has found. */
class Findings {
  readonly failures: FaultFailure[] = []
  readonly statuses = new Map<number, number>()
  abused = 0
  rejected = 0

  fail(seed: number, message: string): void {
    this.failures.push({ seed, message })
  }

  count(status: number): void {
    const hundreds = Math.floor(status / 100)
    this.statuses.set(hundreds, (this.statuses.get(hundreds) ?? 0) + 1)
  }

  get figures(): string {
    const classes = [2, 3, 4, 5].map((digit) => `${this.statuses.get(digit) ?? 0} × ${digit}xx`)
    return `${classes.join(', ')}, ${this.abused} broken connections, ${this.rejected} rejected in overloads`
  }
}

/** Sends requests to the operations of the document, and checks each response. */
class Fuzzer {
  readonly #port: number
  readonly #subject: Subject
  readonly #requests = new Map<Operation, fc.Arbitrary<RandomRequest>>()
  readonly #check: DocumentCheck
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })

  constructor(port: number, subject: Subject) {
    this.#port = port
    this.#subject = subject
    this.#check = new DocumentCheck(subject.document)
  }

  async run(seed: number, findings: Findings): Promise<void> {
    const { operations, source } = this.#subject
    const operation = pick(randomFrom(seed), operations)
    const requests = this.#requests.get(operation) ?? requestsTo(operation, source)
    this.#requests.set(operation, requests)
    const [request] = fc.sample(requests, { seed, numRuns: 1 })
    if (request === undefined) throw new Error('fast-check made no request')
    try {
      const response = await this.#send(request)
      findings.count(response.status)
      const problem = problemOf(response.status, response.headers.get('retry-after'))
      if (problem !== undefined) throw new Error(`${problem}: ${response.text.slice(0, 300)}`)
      if (request.isRouted) this.#check.check(operation.id, response)
    } catch (error) {
      const { method, path, body = 'no body' } = request
      findings.fail(seed, `${method} ${path.slice(0, 300)}\n  ${body.toString().slice(0, 300)}\n  ${textOf(error)}`)
    }
  }

  async #send(request: RandomRequest): Promise<ReceivedResponse> {
    for (let tries = 1; ; tries += 1)
      try {
        return await send(this.#port, this.#agent, request)
      } catch (error) {
        if (tries === MAX_TRIES) throw error
      }
  }

  close(): void {
    this.#agent.destroy()
  }
}

/** Runs many connections at the same time. */
async function abuseAll(target: Target, seeds: readonly number[], findings: Findings): Promise<void> {
  for (let at = 0; at < seeds.length; at += ABUSE_AT_ONCE) {
    const group = seeds.slice(at, at + ABUSE_AT_ONCE)
    const problems = await Promise.all(group.map((seed) => abuse(target.port, seed)))
    findings.abused += group.length
    for (const [i, problem] of problems.entries()) if (problem !== undefined) findings.fail(group[i] ?? 0, problem)
  }
}

async function overloadOnce(target: Target, seed: number, findings: Findings): Promise<void> {
  for (let tries = 1; tries <= MAX_OVERLOADS; tries += 1) {
    const rejected = await overload(target.port)
    if (typeof rejected === 'string') return findings.fail(seed, `overload: ${rejected}`)
    findings.rejected += rejected
    if (rejected > 0) return
  }
  findings.fail(seed, 'overload: nothing was rejected beyond the capacity')
}

/** Returns what grew too much. */
const growthOf = (middle: Resources, end: Resources): readonly string[] =>
  (['memory', 'sockets', 'descriptors'] as const)
    .filter((what) => end[what] - middle[what] > MAX_GROWTH[what])
    .map((what) => `${what} grew from ${middle[what]} to ${end[what]}, at most ${MAX_GROWTH[what]} more is allowed`)

/** Servers that break the promises must be noticed, or the cases prove nothing. */
async function runControl(subject: Subject, seed: number, findings: Findings): Promise<void> {
  const unnoticed = await countUnnoticed(async (port) => {
    const fuzzer = new Fuzzer(port, subject)
    const found = new Findings()
    for (let i = 0; i < CONTROL_REQUESTS; i++) await fuzzer.run(i, found)
    fuzzer.close()
    return found.failures.length > 0
  })
  if (unnoticed > 0) findings.fail(seed, 'control: a server that breaks the promises is not noticed')
}

/** Half of the cases, then what the servers hold, the other half, and the comparison. */
async function run({ count, seed, progress }: FaultRun): Promise<FaultResult> {
  const [plainFolder, abusedFolder] = await Promise.all([makeTemporary(), makeTemporary()])
  const targets: Target[] = []
  const start = async (folder: string, settings: Parameters<typeof Target.start>[1]): Promise<Target> => {
    const target = await Target.start(folder, settings)
    targets.push(target)
    return target
  }
  try {
    const plain = await start(plainFolder, { EVIDENCE_MAX_FILE_BYTES: '1048576' })
    const findings = new Findings()
    const subject = await createSubject(plain.url, OPERATOR_KEY)
    // Without its time limits, which a slow machine could exceed.
    const unlimited = await start(abusedFolder, {})
    await createSubject(unlimited.url, OPERATOR_KEY)
    await unlimited.stop()
    const abused = await start(abusedFolder, ABUSED_SETTINGS)
    await runControl(subject, seed, findings)
    const fuzzer = new Fuzzer(plain.port, subject)
    const half = async (from: number, to: number): Promise<readonly Resources[]> => {
      const broken: number[] = []
      for (let i = from; i < to; i++) {
        if ((seed + i) % ABUSE_EVERY === 0) broken.push(seed + i)
        else await fuzzer.run(seed + i, findings)
        progress(i + 1)
      }
      await abuseAll(abused, broken, findings)
      if (count > 1) await overloadOnce(abused, seed, findings)
      if (to === count) fuzzer.close()
      return Promise.all([plain.resources(MAX_SOCKETS), abused.resources(MAX_SOCKETS)])
    }
    const middle = await half(0, Math.floor(count / 2))
    for (const [i, end] of (await half(Math.floor(count / 2), count)).entries())
      for (const growth of growthOf(middle[i] ?? end, end)) findings.fail(seed, `server ${i + 1}: ${growth}`)
    return { cases: count, failures: findings.failures, figures: findings.figures }
  } finally {
    await Promise.all(targets.map((target) => target.stop()))
    await Promise.all([plainFolder, abusedFolder].map((folder) => removeTemporary(folder)))
  }
}

export const part: FaultPart = {
  name: 'fuzz',
  passesWhen: 'no 5xx but 503 with Retry-After, responses match the document, memory and descriptors stay flat',
  count: { short: 600, long: 2_200 },
  run,
}
