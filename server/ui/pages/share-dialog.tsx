import { useMemo, useState } from 'preact/hooks'
import type { Evidence } from '../../client/index.ts'
import { closeDialog, Dialog, openDialog } from '../components/dialog.tsx'
import { CheckField } from '../components/fields.tsx'
import { Form } from '../components/form.tsx'
import { Icon } from '../components/icon.tsx'
import { WhenLoaded } from '../components/notice.tsx'
import { useForm } from '../components/use-form.ts'
import { useLoad } from '../components/use-load.ts'
import { CopyButton } from '../components/values.tsx'
import { verificationLink } from '../public-url.ts'
import { hasLevel, isOperator, useSession } from '../session.ts'
import * as texts from '../texts/index.ts'
import { makeLink } from './make-link.ts'
import { ShareMade } from './share-made.tsx'
import { SharePreview } from './share-preview.tsx'
import { choicesOf, disclosedBy, readShareable, type Choice, type Shareable } from './share-choices.ts'

interface ShareDialogProps {
  readonly evidence: Evidence
  /** Follows a new link. */
  readonly onDone: () => unknown
}

/** Makes a link that discloses what is chosen. Below, the link that discloses nothing. */
export function ShareDialog({ evidence: { id, name, externalId }, onDone }: ShareDialogProps) {
  const t = texts.share
  const { client } = useSession()
  const content = useLoad((signal) => readShareable(client, externalId, signal), [client, externalId])
  const link = verificationLink(id)
  return (
    <Dialog title={t.title(name)}>
      <WhenLoaded of={content}>{(shareable) => <ShareForm shareable={shareable} onDone={onDone} />}</WhenLoaded>
      <details class="small stack">
        <summary>
          <Icon name="down" />
          {t.creationOnly}
        </summary>
        <p>{t.intro}</p>
        <p class="wrap">
          <a href={link}>{link}</a>
        </p>
        <CopyButton text={link} />
      </details>
    </Dialog>
  )
}

const DAY_MS = 86_400_000
/** The only ones that level R may choose. The longest of them is also its default. */
const [WEEK, MONTH] = [7, 30]
/** In days. `Infinity`: until somebody ends it. */
const DURATIONS = [WEEK, MONTH, 365, Infinity] as const

/** The switches, the preview, and for how long. */
function ShareForm({ shareable, onDone }: { readonly shareable: Shareable } & Pick<ShareDialogProps, 'onDone'>) {
  const t = texts.share
  const session = useSession()
  const form = useForm({})
  const choices = useMemo(() => choicesOf(shareable), [shareable])
  const [chosen, setChosen] = useState<readonly Choice[]>(() => choices.filter(({ isOnAtFirst }) => isOnAtFirst))
  const [days, setDays] = useState<number>(MONTH)
  const isLimited = !hasLevel(session, 'U')
  const { evidence, events } = shareable
  const make = async (): Promise<void> => {
    const files = chosen.flatMap((choice) => choice.files)
    const choice = { fields: chosen.flatMap(({ fields }) => fields), files }
    const isDefault = days === Infinity || (isLimited && days === MONTH)
    const end = isDefault ? {} : { expiresAt: new Date(Date.now() + days * DAY_MS).toISOString() }
    const isAll = files.length > 0 && files.length === shareable.files.length
    const request = { externalId: evidence.externalId, ...choice, ...end, ...(isAll && { files: 'all' as const }) }
    const made = await makeLink(session.client, request, events.length)
    openDialog(<ShareMade {...made} name={evidence.name} what={disclosedBy(choice)} />)
    onDone()
  }
  return (
    <Form form={form} action={make} submitText={t.make} onCancel={closeDialog}>
      <div class="grid compose">
        <div class="stack">
          <Switches shareable={shareable} choices={choices} chosen={chosen} onChange={setChosen} />
          <fieldset class="row">
            <legend>{t.duration}</legend>
            {DURATIONS.filter((each) => !isLimited || each <= MONTH).map((each) => (
              <label key={each} class="button chip">
                <input
                  class="visually-hidden"
                  type="radio"
                  name="days"
                  checked={days === each}
                  onChange={() => setDays(each)}
                />
                {t.durations(each)}
              </label>
            ))}
          </fieldset>
          <p class="small muted">
            {t.upTo(events.length)} {!isOperator(session) && t.endsWithKey(session.system.name)}
          </p>
        </div>
        <SharePreview shareable={shareable} choices={choices} chosen={chosen} />
      </div>
    </Form>
  )
}

interface SwitchesProps {
  readonly shareable: Shareable
  readonly choices: readonly Choice[]
  readonly chosen: readonly Choice[]
  readonly onChange: (chosen: readonly Choice[]) => void
}

/** What a link always shows, and what it shows if it is chosen. */
function Switches({ shareable: { events, files }, choices, chosen, onChange }: SwitchesProps) {
  const t = texts.share
  const choose = (choice: Choice, isOn: boolean): void =>
    onChange(choices.filter((each) => (each === choice ? isOn : chosen.includes(each))))
  return (
    <fieldset>
      <legend>{t.sees}</legend>
      <CheckField label={t.always} hint={t.alwaysHint(events.length, files.length)} isChecked isSwitch />
      {choices.map((choice) => (
        <CheckField
          key={choice.key}
          label={choice.title}
          hint={choice.hint}
          isWarning={choice.isWarning}
          isChecked={chosen.includes(choice)}
          onChange={(isOn) => choose(choice, isOn)}
          isSwitch
        />
      ))}
    </fieldset>
  )
}
