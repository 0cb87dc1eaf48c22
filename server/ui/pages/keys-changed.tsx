import { Fingerprint } from '../components/fingerprint.tsx'
import { Icon } from '../components/icon.tsx'
import { Card } from '../components/notice.tsx'
import { formatUtcDate, saveFile } from '../format.ts'
import * as texts from '../texts/index.ts'
import { forgetTrust, type Trust } from '../trust.ts'
import { Alarm } from './verdict.tsx'

interface KeysChangedProps {
  /** What the user trusts; `undefined` if the user compared the words, and they differ. */
  readonly trust: Trust | undefined
  /** The log that signs now, if a log does. */
  readonly origin: string | undefined
  /** The proof that was fetched. */
  readonly text: string
}

/** In place of a proof that is not of the registry that the user trusts. */
export function KeysChanged({ trust, origin, text }: KeysChangedProps) {
  const t = texts.trust
  const save = (): void => saveFile(new Blob([text], { type: 'application/json' }), 'stranger.evidence.json')
  return (
    <>
      <Alarm title={trust ? t.changed : t.differs}>
        {trust ? t.changedText(formatUtcDate(trust.since)) : t.differsText} <b>{t.nothingShown}</b>
      </Alarm>
      <div class="verdict-page stack">
        <div class="grid two-prints">
          {trust && (
            <Card title={t.trusted} aside={formatUtcDate(trust.since)}>
              <Fingerprint origin={trust.id} />
            </Card>
          )}
          <Card title={t.signsNow}>{origin ? <Fingerprint origin={origin} /> : <p>{t.otherKey}</p>}</Card>
        </div>
        <Card title={t.toDo}>
          <ol class="rows">
            {t.steps.map(([step, hint]) => (
              <li key={step}>
                <b>{step}</b>
                <p class="muted">{hint}</p>
              </li>
            ))}
          </ol>
          <button onClick={save}>
            <Icon name="keep" />
            {t.keepSent}
          </button>
        </Card>
        {trust && <ForgetTrust />}
      </div>
    </>
  )
}

/** Forgets what the user trusts, folded: it is seldom right. */
export const ForgetTrust = () => (
  <details class="fold no-print">
    <summary>
      <Icon name="key" />
      {texts.trust.forget}
      <Icon name="down" />
    </summary>
    <div class="stack">
      <p>{texts.trust.forgetHint}</p>
      <button class="danger" onClick={forgetTrust}>
        {texts.trust.forgetIt}
      </button>
    </div>
  </details>
)
