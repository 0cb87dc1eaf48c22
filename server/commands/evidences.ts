import { createReadStream } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Bundle } from '../../core/schemas/index.ts'
import { bundleFileName } from '../bundle-file-name.ts'
import { EvidenceRegistryError, type Client } from '../client/index.ts'
import { digestFile } from '../file-digest.ts'
import { CLIENT_FLAGS, defineClientCommand } from './client-command.ts'
import { UsageError } from './flags.ts'
import { saveBundle, sizeOfTree } from './save-bundle.ts'
import { printable, ProgressLine, whyUnreadable, writeOut } from './terminal.ts'

export const progress = new ProgressLine()

type Column = string | number | null | undefined

/** Prints a line of the result: an object, or its columns. */
export const printLine = (json: boolean | undefined, value: object, ...columns: readonly Column[]): void =>
  progress.print(json ? JSON.stringify(value) : columns.map((column) => printable(String(column ?? '-'))).join('  '))

/** `evidence-registry add`. */
export const addCommand = defineClientCommand({
  name: 'add',
  description: `
Creates an evidence for each file, with the file and its name. Prints the external id and the txId. If there is an
evidence of this external id that has the file already, nothing is changed: the command can be run again.`,
  operand: 'FILE...',
  flags: {
    ...CLIENT_FLAGS,
    category: { value: 'CATEGORY/SUBCATEGORY', isRequired: true, doc: 'created if they do not exist' },
    prefix: { value: 'TEXT', doc: 'what the external ids begin with, such as v1.2/; the name of the file follows' },
    owner: { value: 'NAME', doc: 'the owner of the evidences' },
    meta: { value: 'NAME=VALUE', isMultiple: true, doc: 'a text for their metadata' },
  },
  async run(registry, { category, prefix = '', owner, meta: pairs = [], json }, paths) {
    const [categoryName = '', subcategoryName = '', ...more] = category.split('/')
    if (
      categoryName === '' ||
      subcategoryName === '' ||
      more.length > 0 ||
      !pairs.every((pair) => /^[^=]+=/.test(pair))
    )
      throw new UsageError('expected --category CATEGORY/SUBCATEGORY and --meta NAME=VALUE')
    const meta = Object.fromEntries(pairs.map((pair) => [pair.replace(/=[^]*/, ''), pair.replace(/^[^=]+=/, '')]))
    const sizes = await Promise.all(paths.map(sizeOf))
    for (const [i, path] of paths.entries()) {
      const name = basename(path)
      const externalId = prefix + name
      const images = [{ name, content: () => createReadStream(path) }]
      const values = { categoryName, subcategoryName, externalId, name, meta, ...(owner !== undefined && { owner }) }
      const onProgress = ({ sentBytes }: { readonly sentBytes: number }): void =>
        progress.show(`${name}: ${Math.min(100, Math.floor((100 * sentBytes) / (sizes[i] || 1)))} %`)
      try {
        const options = process.stderr.isTTY ? { onProgress } : {}
        const { id, txId } = await registry.createEvidence({ ...values, images }, options)
        printLine(json, { file: path, externalId, id, txId }, externalId, txId)
      } catch (error) {
        if (!(error instanceof EvidenceRegistryError && error.code === 'EXTERNAL_ID_EXISTS')) throw error
        if (!(await hasFile(registry, externalId, path))) throw error
        const { id, txId } = (await registry.getEvidence({ externalId, len: 1 })).object
        printLine(json, { file: path, externalId, id, txId, wasPresent: true }, externalId, txId, 'present before')
      }
    }
    return 0
  },
})

/** @throws UsageError before anything is created */
async function sizeOf(path: string): Promise<number> {
  const info = await stat(path).catch((error: unknown) => whyUnreadable(error))
  if (typeof info === 'string' || !info.isFile())
    throw new UsageError(`cannot read ${path}: ${typeof info === 'string' ? info : 'it is not a file'}`)
  return info.size
}

async function hasFile(registry: Client, externalId: string, path: string): Promise<boolean> {
  const [{ sha256 }, { dt }] = await Promise.all([digestFile(path), registry.listEvidenceFiles({ externalId })])
  return dt.some((file) => file.sha256 === sha256)
}

/** `evidence-registry get`. */
export const getCommand = defineClientCommand({
  name: 'get',
  description: 'Prints an evidence and its events, oldest first.',
  operand: 'EXTERNAL_ID',
  flags: CLIENT_FLAGS,
  async run(registry, { json }, [externalId = '']) {
    const { object } = await registry.getEvidence({ externalId, len: 1 })
    if (json) printLine(json, object)
    else for (const [name, value] of Object.entries(object)) printLine(json, {}, name, textOf(value))
    for await (const event of registry.history({ externalId })) {
      const { version, timestamp, type, updateType = type, ownerName, txId, merkleSendStatus } = event
      printLine(json, event, version, timestamp, updateType, ownerName, txId, merkleSendStatus)
    }
    return 0
  },
})

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** `evidence-registry list`. */
export const listEvidencesCommand = defineClientCommand({
  name: 'list',
  description: 'Prints evidences, newest first: external id, name, owner, and the time of the last change.',
  flags: {
    ...CLIENT_FLAGS,
    q: { value: 'WORDS', doc: 'each word must begin a word of the name, the external id or the owner' },
    owner: { value: 'NAME', doc: 'only those of this owner' },
  },
  async run(registry, { q, owner, json }) {
    const filter = { ...(q !== undefined && { q }), ...(owner !== undefined && { owner }) }
    for await (const evidence of registry.evidences(filter)) {
      const { externalId, name, owner: of, lastUpdateDate } = evidence
      printLine(json, evidence, externalId, name, of?.name, lastUpdateDate)
    }
    return 0
  },
})

const POLL_MS = 1_000

/** `evidence-registry bundle`. */
export const bundleCommand = defineClientCommand(
  {
    name: 'bundle',
    description: `
Writes the proof bundle of each evidence to EXTERNAL_ID.evidence.json, with all fields and hashes of files, and prints
the name of the file: an id that is not of a-z 0-9 . _ - alone gets a name of its own. A proof that is there is only
replaced by one of the same events with more tokens, anchors and receipts of erasures; later events are written
to EXTERNAL_ID~2.evidence.json. Check it with:
evidence-registry verify EXTERNAL_ID.evidence.json --policy POLICY --file FILE`,
    operand: 'EXTERNAL_ID...',
    flags: {
      ...CLIENT_FLAGS,
      to: { value: 'DIR', doc: 'the folder; default: the current one. It is created; - prints one bundle instead' },
      wait: {
        value: 'SECONDS',
        doc: 'how long to wait until the evidences are sealed and stamped or anchored; default: 0',
      },
    },
    async run(registry, { to = '.', wait = '0', json }, externalIds) {
      if (!/^\d{1,6}$/.test(wait)) throw new UsageError('--wait must be a number of seconds')
      const end = Date.now() + Number(wait) * 1_000
      if (to === '-' && externalIds.length > 1) throw new UsageError('--to - takes one EXTERNAL_ID')
      if (to !== '-') await mkdir(to, { recursive: true })
      let areAllComplete = true
      for (const externalId of externalIds) {
        const { text, isComplete } = await fetchBundle(registry, externalId, end)
        areAllComplete &&= isComplete
        if (to === '-') {
          await writeOut(text)
          continue
        }
        const file = await saveBundle(join(to, bundleFileName(externalId)), text)
        printLine(json, { externalId, file, isComplete }, file, isComplete ? 'complete' : 'not sealed and stamped yet')
      }
      return areAllComplete ? 0 : 4
    },
  },
  '; 4 written, but an event is not sealed, or not stamped or anchored yet',
)

/** Asks again until it is complete, or the time has come. */
async function fetchBundle(
  registry: Client,
  externalId: string,
  end: number,
): Promise<{ text: string; isComplete: boolean }> {
  for (;;) {
    const text = await (await registry.getBundle({ externalId, fields: 'all', files: 'all' })).text()
    const isComplete = isAttested(JSON.parse(text))
    if (isComplete || Date.now() >= end) return { text, isComplete }
    progress.show(`${externalId}: waits until it is sealed`)
    await sleep(POLL_MS)
  }
}

/**
 * Whether a tree that a quorum stamped or that is anchored holds each event; a signed one, if the registry has no
 * authority and no chain.
 */
function isAttested({ events, checkpoints, claimedPolicy }: Bundle): boolean {
  const { timestampAuthorities = [], timestampQuorums = [], timestampQuorum = 1, chains = [] } = claimedPolicy ?? {}
  const isOptional = timestampAuthorities.length + chains.length === 0
  const isWithin = (size: number, { from, until }: (typeof timestampQuorums)[number]['ranges'][number]): boolean =>
    from <= size && size <= (until ?? Infinity)
  const quorumOf = (size: number): number =>
    timestampQuorums.find(({ ranges }) => ranges.some((range) => isWithin(size, range)))?.quorum ?? timestampQuorum
  const sizes = checkpoints
    .map((checkpoint) => ({ ...checkpoint, size: sizeOfTree(checkpoint.note) }))
    .filter(({ size, tokens, anchors }) => isOptional || anchors.length > 0 || tokens.length >= quorumOf(size))
    .map(({ size }) => size)
  return events.every(({ inclusion }) => inclusion.some(({ treeSize }) => sizes.includes(treeSize)))
}

/** `evidence-registry watch`. */
export const watchCommand = defineClientCommand({
  name: 'watch',
  description: `
Prints the events of a company as they are recorded: time, external id, version, what happened, and txId. It goes on
after a restart of the server, until it is stopped.`,
  flags: {
    ...CLIENT_FLAGS,
    after: {
      value: 'CURSOR',
      doc: 'begin after the event that --json printed with it; first: with all; default: latest',
    },
    once: { doc: 'print what there is, and end' },
  },
  async run(registry, { after = 'latest', once, json }) {
    for await (const event of registry.events({ ...(after !== 'first' && { after }), ...(once && { wait: 0 }) })) {
      const { timestamp, externalId, version, type, updateType = type, txId } = event
      printLine(json, event, timestamp, externalId, version, updateType, txId)
    }
    return 0
  },
})
