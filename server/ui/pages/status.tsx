import { useState } from 'preact/hooks'
import { createClient, EvidenceRegistryError, type Client } from '../../client/index.ts'
import { TextField } from '../components/fields.tsx'
import { Icon, type IconName } from '../components/icon.tsx'
import { Failure } from '../components/notice.tsx'
import { useForm } from '../components/use-form.ts'
import { FieldError } from '../failure.ts'
import { formatUtc, formatUtcTime } from '../format.ts'
import { hrefOf } from '../router.ts'
import { API_URL } from '../session.ts'
import * as texts from '../texts/index.ts'

type Status = Awaited<ReturnType<Client['getPublicStatus']>>

/** Does not wait by itself: the page says at once that there were too many questions. */
const CLIENT = createClient({ baseUrl: API_URL, retry: { retries: 0 } })

/** Asks for the state of a thing, without a key and without a proof. */
export function StatusPage({ companyId }: { readonly companyId: string }) {
  const t = texts.status
  const form = useForm({ externalId: '' })
  const [answer, setAnswer] = useState<{ readonly status: Status; readonly askedAt: number }>()
  const change = (externalId: string): void => {
    // An answer stands only beside the id that it is about.
    setAnswer(undefined)
    form.change({ externalId })
  }
  const ask = async (): Promise<void> => {
    setAnswer(undefined)
    const externalId = form.values.externalId.trim()
    if (externalId === '') throw new FieldError({ externalId: t.missing })
    const status = await CLIENT.getPublicStatus({ companyId, externalId })
    setAnswer({ status, askedAt: Date.now() })
  }
  return (
    <div class="narrow status">
      <h1>{t.title}</h1>
      <p class="muted">{t.intro(companyId)}</p>
      <section class="card stack" aria-label={t.ask}>
        <form class="stack" onSubmit={form.submit(ask)} noValidate>
          <TextField label={t.number} hint={t.numberHint} {...form.props('externalId')} onChange={change} />
          <button class="primary" type="submit" disabled={form.isBusy}>
            {t.ask}
          </button>
        </form>
        {answer && <StatusAnswer companyId={companyId} status={answer.status} />}
        {form.error !== undefined && <NoAnswer error={form.error} />}
        {answer && <p class="small muted">{t.word(formatUtcTime(answer.askedAt))}</p>}
      </section>
      <a class="small" href={hrefOf(['verify'])}>
        {texts.signIn.verifyInstead}
      </a>
    </div>
  )
}

interface AnswerProps {
  readonly icon: IconName
  readonly title: string
  readonly text: string
  /** Of a theft, in UTC. */
  readonly since?: string | undefined
}

/** The state in words. Only a theft has a colour. */
const Answer = ({ icon, title, text, since }: AnswerProps) => (
  <div class={`flex answer ${since === undefined ? '' : 'stolen'}`} role="status">
    <Icon name={icon} />
    <p>
      <b>{title}</b>
      {since !== undefined && (
        <>
          {texts.status.since} <time dateTime={formatUtc(since)}>{formatUtcTime(since)}</time>.{' '}
        </>
      )}
      {text}
    </p>
  </div>
)

function StatusAnswer({ companyId, status }: { readonly companyId: string; readonly status: Status }) {
  const t = texts.status
  if (status.state === 'unknown') return <Answer icon="dash" title={t.unknown} text={t.unknownText(companyId)} />
  if (status.state === 'active') return <Answer icon="tick" title={texts.certificate.notStolen} text={t.activeText} />
  return (
    <Answer
      icon="warning"
      title={texts.evidence.updateNames.stolen}
      since={status.since ?? ''}
      text={texts.verify.stolenAdvice}
    />
  )
}

/** Why there is no answer, which says nothing about the thing. */
function NoAnswer({ error }: { readonly error: unknown }) {
  const t = texts.status
  if (!(error instanceof EvidenceRegistryError)) return <Failure error={error} />
  const { status, retryAfterMs = 0 } = error
  if (status === 429)
    return <Answer icon="clock" title={t.tooMany} text={t.tryAgainIn(Math.ceil(retryAfterMs / 1_000))} />
  if (status !== 0 && status < 500) return <Failure error={error} />
  return <Answer icon="info" title={t.notReached(location.host)} text={t.notReachedText} />
}
