import { Dialog, openDialog } from '../components/dialog.tsx'
import { Icon } from '../components/icon.tsx'
import { Card, Failure, WhenLoaded } from '../components/notice.tsx'
import { useForm } from '../components/use-form.ts'
import { useLoad, type Loading } from '../components/use-load.ts'
import { Time } from '../components/values.tsx'
import type { Evidence } from '../../client/index.ts'
import { hasLevel, useSession, type Session } from '../session.ts'
import * as texts from '../texts/index.ts'
import { disclosedBy, type Share } from './share-choices.ts'
import { ShareDialog } from './share-dialog.tsx'

/** The links of an evidence, newest first. */
export function useShares(externalId: string): Loading<readonly Share[]> {
  const { client } = useSession()
  const read = async (signal: AbortSignal) => (await client.listShares({ externalId }, { signal })).shares
  return useLoad(read, [client, externalId])
}

const isOpen = ({ endedAt, expiresAt }: Share): boolean =>
  endedAt === undefined && (expiresAt === undefined || Date.parse(expiresAt) > Date.now())

interface LinksProps {
  readonly evidence: Evidence
  readonly onChange: () => unknown
}

const IN_CARD = 2

/** The newest open links, and the way to all and to a new one. */
export function LinksCard({ shares, ...links }: LinksProps & { readonly shares: Loading<readonly Share[]> }) {
  const t = texts.share
  const { evidence, onChange } = links
  const all = (
    <button class="chip" onClick={() => openDialog(<LinksDialog {...links} />)}>
      {t.manage}
    </button>
  )
  return (
    <Card title={t.links} aside={all}>
      <WhenLoaded of={shares}>
        {(listed) => {
          const open = listed.filter(isOpen).slice(0, IN_CARD)
          return open.length === 0 ? <p class="muted">{t.noneOpen}</p> : <ShareLines shares={open} {...links} />
        }}
      </WhenLoaded>
      <button class="below" onClick={() => openDialog(<ShareDialog evidence={evidence} onDone={onChange} />)}>
        <Icon name="link" />
        {t.create}
      </button>
    </Card>
  )
}

/** All open links, and the newest of those that ended. */
function LinksDialog({ evidence, onChange }: LinksProps) {
  const t = texts.share
  const shares = useShares(evidence.externalId)
  const change = (): Promise<void> => {
    onChange()
    return shares.reload()
  }
  return (
    <Dialog title={t.linksTitle(evidence.name)}>
      <WhenLoaded of={shares}>
        {(listed) => (
          <>
            <ShareLines shares={listed} evidence={evidence} onChange={change} />
            <p class="small muted">{t.openCount(listed.filter(isOpen).length)}</p>
          </>
        )}
      </WhenLoaded>
    </Dialog>
  )
}

const ShareLines = ({ shares, ...links }: LinksProps & { readonly shares: readonly Share[] }) => (
  <ul class="lines">
    {shares.map((share) => (
      <ShareLine key={share.id} share={share} {...links} />
    ))}
  </ul>
)

/** A link: what it discloses, who made it, when it was used, and how it ends. */
function ShareLine({ share, evidence: { externalId }, onChange }: LinksProps & { readonly share: Share }) {
  const t = texts.share
  const session = useSession()
  const form = useForm({})
  const { id: shareId, kind, actor, createdAt, lastUsedAt, expiresAt, endedAt } = share
  const mayEnd = isOpen(share) && (hasLevel(session, 'U') || actor === session.system.id)
  const end = async (): Promise<void> => {
    await session.client.endShare({ externalId, shareId })
    onChange()
  }
  const what = disclosedBy(share)
  const ending = endedAt ?? expiresAt
  return (
    <li>
      <span class="sign">
        <Icon name={isOpen(share) ? 'link' : 'hidden'} />
      </span>
      <div class="text small">
        <b>{what}</b>
        <p class="muted">
          {kind === 'certificate' && `${texts.evidence.certificate}, `}
          {makerOf(actor, session)}, <Time at={createdAt} isAge />
        </p>
        <p class={isOpen(share) ? undefined : 'muted'}>
          {lastUsedAt ? t.used : t.unused} {lastUsedAt && <Time at={lastUsedAt} isAge />}
          {' · '}
          {ending === undefined ? t.untilEnded : isOpen(share) ? t.endsOn : t.ended}{' '}
          {ending && <Time at={ending} isAge />}
        </p>
        {form.error !== undefined && <Failure error={form.error} />}
      </div>
      {mayEnd && (
        <button disabled={form.isBusy} onClick={() => void form.run(end)} aria-label={`${t.end}: ${what}`}>
          {t.end}
        </button>
      )}
    </li>
  )
}

/** The names of other keys are known only to level A. */
const makerOf = (actor: string, { system }: Session): string =>
  actor === system.id ? system.name : actor === 'operator' ? texts.systems.operator : texts.share.otherKey
