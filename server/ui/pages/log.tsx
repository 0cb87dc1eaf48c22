import { useEffect, useState } from 'preact/hooks'
import type { LogPolicy, MerkleProof, MerkleRoot } from '../../client/index.ts'
import { TextField } from '../components/fields.tsx'
import { Fingerprint } from '../components/fingerprint.tsx'
import { Form } from '../components/form.tsx'
import { useForm } from '../components/use-form.ts'
import { Card, Notice, WhenLoaded } from '../components/notice.tsx'
import { ProofTree } from '../components/proof-tree.tsx'
import { useEvery, useLoad } from '../components/use-load.ts'
import { authorityName, Facts, Hash, isOwn, networkName, SendStatus, Time } from '../components/values.tsx'
import { insteadOf } from '../failure.ts'
import { saveFile } from '../format.ts'
import { API_URL, publicClient } from '../session.ts'
import * as texts from '../texts/index.ts'
import { LogBatches } from './log-batches.tsx'
import { WitnessesCard } from './log-witnesses.tsx'

interface LogPageProps {
  /** The transaction that a link leads to. It is shown first. */
  readonly txId?: string | undefined
}

/** The log: its growth, batches, witnesses, policy, newest checkpoint, and the path of a transaction. Public. */
export function LogPage({ txId }: LogPageProps) {
  const t = texts.log
  return (
    <>
      <h1>{t.title}</h1>
      <p class="small muted">{t.intro}</p>
      <FindTransaction key={txId} linkedTxId={txId} />
      <LogBatches />
      <WitnessesCard />
      <PolicyCard />
      <CheckpointCard />
    </>
  )
}

/** The newest checkpoint, as the log signed it; `undefined` before the first batch. */
const loadCheckpoint = (signal: AbortSignal): Promise<string | undefined> =>
  publicClient.getCheckpoint({}, { signal }).catch(insteadOf('NOT_FOUND', undefined))

const REFRESH_MS = 3_000

/** A signed note: origin, entries, root and signatures (https://c2sp.org/tlog-checkpoint). It is read again and again. */
function CheckpointCard() {
  const t = texts.log
  const checkpoint = useLoad(loadCheckpoint, [])
  useEvery(REFRESH_MS, checkpoint.refresh)
  return (
    <Card title={t.checkpoint} aside={t.checkpointNote}>
      <WhenLoaded of={checkpoint}>
        {(note) => (note === undefined ? <Notice tone="pending">{t.empty}</Notice> : <pre>{note}</pre>)}
      </WhenLoaded>
    </Card>
  )
}

interface FoundTransaction {
  readonly proof: MerkleProof
  readonly root: MerkleRoot
}

/** Finds a transaction by its txId, the linked one without a click. */
function FindTransaction({ linkedTxId = '' }: { readonly linkedTxId?: string | undefined }) {
  const t = texts.log
  const form = useForm({ txid: linkedTxId }, ['txId'])
  const [found, setFound] = useState<FoundTransaction>()
  const find = async (): Promise<void> => {
    const request = { txId: form.values.txid.trim().toLowerCase() }
    const [proof, root] = await Promise.all([publicClient.getProof(request), publicClient.getRoot(request)])
    setFound({ proof, root })
  }
  useEffect(() => {
    if (linkedTxId !== '') void form.run(find)
  }, [])
  return (
    <Card title={t.find}>
      <Form form={form} action={find} submitText={texts.evidence.show}>
        <TextField
          label="txId"
          hint={t.findHint}
          {...form.props('txid')}
          problem={form.problemOf('txid') ?? form.problemOf('txId')}
        />
      </Form>
      {found && <TransactionView {...found} />}
    </Card>
  )
}

/** The batch of a transaction, and its path to the root. */
function TransactionView({ proof, root }: FoundTransaction) {
  const t = texts.log
  if (proof.status === 'pending' || root.status === 'pending')
    return <Notice tone="pending">{texts.evidence.sendStatus.null.long}</Notice>
  return (
    <>
      <h2>{t.batch}</h2>
      <Facts
        of={[
          [t.batch, <Hash value={root.batchId} />],
          [t.batchSize, root.txidCount],
          [texts.fields.status, <SendStatus status={root.sendStatus} />],
          [texts.overview.sealed, <Time at={root.createdAt} />],
          [t.stamp, root.tsaGenTime && <Time at={root.tsaGenTime} />],
          [t.vouches, proof.status === 'ok' && proof.assurance.note],
        ]}
      />
      <h2>{t.path}</h2>
      <ProofTree
        treeSize={proof.treeSize}
        leafIndex={proof.leafIndex}
        batchStart={proof.treeSize - root.txidCount}
        proof={proof.proof}
      />
      <p class="muted">{t.treeLegend}</p>
      <ol class="path">
        <li>
          {t.leaf} {proof.leafIndex}: <Hash value={proof.txId} />
        </li>
        {proof.proof.map(({ hash, position }) => (
          <li key={hash}>
            {t.sibling(position)}: <Hash value={hash} />
          </li>
        ))}
        <li>
          <strong>{t.root}</strong>: <Hash value={proof.merkleRoot} />
        </li>
      </ol>
    </>
  )
}

/** What a verifier pins, to be saved before it is needed. */
function PolicyCard() {
  const t = texts.log
  const policy = useLoad((signal) => publicClient.getPolicy({}, { signal }), [])
  return (
    <Card title={t.policy}>
      <p>{t.policyIntro}</p>
      <WhenLoaded of={policy}>
        {(value) => (
          <>
            <Fingerprint origin={value.origin} />
            <p class="small muted">{t.fingerprint}</p>
            <Facts
              of={[
                [t.title, value.origin],
                [t.keys, value.keys.map(({ vkey }) => vkey).join('\n')],
                [t.witnesses, quorumOf(value)],
                [t.authorities, value.timestampAuthorities.map(({ name }) => authorityName(name)).join(', ')],
                [
                  t.chains,
                  value.chains
                    .map(({ type, network }) =>
                      isOwn(network) || type === network ? networkName(network) : `${type} ${network}`,
                    )
                    .join(', '),
                ],
              ]}
            />
            <p class="row">
              <button onClick={() => saveFile(new Blob([JSON.stringify(value, null, 2)]), 'policy.json')}>
                {t.downloadPolicy}
              </button>
              <a class="button" href={`${API_URL}/log/policy?format=text`} download="policy.txt">
                {t.downloadText}
              </a>
            </p>
          </>
        )}
      </WhenLoaded>
    </Card>
  )
}

/** How many of which witnesses or groups of them must cosign; nothing without witnesses. */
function quorumOf({ witnesses, groups, quorum }: LogPolicy): string | undefined {
  if (witnesses.length === 0) return undefined
  if (quorum === 'none') return witnesses.map(({ name }) => name).join(', ')
  const { threshold, members } = groups.find(({ name }) => name === quorum) ?? { threshold: 1, members: [quorum] }
  const needed = threshold === 'all' ? members.length : threshold === 'any' ? 1 : threshold
  return texts.log.quorum(needed, members)
}
