import { useContext, useEffect, useState } from 'preact/hooks'
import { createClient, EvidenceRegistryError, type Company } from '../../client/index.ts'
import { CheckField, TextField } from '../components/fields.tsx'
import { Form } from '../components/form.tsx'
import { useForm } from '../components/use-form.ts'
import { Time } from '../components/values.tsx'
import { FieldError } from '../failure.ts'
import { hrefOf, navigate } from '../router.ts'
import { API_URL, forget, isOperator, remember, remembered, signIn, type Session } from '../session.ts'
import { SessionContext } from '../session-context.ts'
import * as texts from '../texts/index.ts'

interface SignInPageProps {
  /** Filled in from the link that the first start prints. */
  readonly companyId: string
  /** Whether the address is that of the sign-in page. Otherwise the page of the address is shown afterwards. */
  readonly isPage: boolean
  readonly onSignIn: (session: Session) => void
}

const MAX_COMPANIES = 1_000

/**
 * Asks for company and key. With the operator key and no company, shows the list of companies: also to an operator who
 * is signed in, whose key opens every company.
 */
export function SignInPage({ companyId: given, isPage, onSignIn }: SignInPageProps) {
  const t = texts.signIn
  const session = useContext(SessionContext)
  const isSwitch = session !== undefined && isOperator(session)
  const [isRemembered, setRemembered] = useState(remembered() !== undefined)
  const [companies, setCompanies] = useState<readonly Company[]>()
  const form = useForm({ companyId: given, apiKey: isSwitch ? session.apiKey : '' })
  const { apiKey } = form.values

  const open = async (company: string): Promise<void> => {
    const next = await signIn({ companyId: company, apiKey })
    if (isRemembered) remember(next)
    else forget()
    onSignIn(next)
    if (isPage) navigate(['overview'])
  }
  const list = async (): Promise<void> => {
    const page = await createClient({ baseUrl: API_URL, apiKey }).listCompanies({ len: MAX_COMPANIES })
    setCompanies(page.companies)
  }
  const submit = (): Promise<void> => {
    const company = form.values.companyId.trim()
    const attempt = company === '' ? list() : open(company)
    return isSwitch ? attempt : attempt.catch((error: unknown) => refuse(company, error))
  }
  useEffect(() => {
    if (isSwitch && given === '') void form.run(submit)
  }, [])
  return (
    <div class="narrow">
      <h1>{isSwitch ? texts.nav.switchCompany : texts.nav.signIn}</h1>
      {!isSwitch && <p class="muted">{t.intro}</p>}
      <div class="card">
        <Form form={form} action={submit} submitText={isSwitch ? texts.nav.switchCompany : texts.nav.signIn}>
          <TextField
            label={texts.fields.company}
            hint={t.companyHint}
            autocomplete="organization"
            {...form.props('companyId')}
          />
          {!isSwitch && (
            <>
              <TextField
                label={t.key}
                type="password"
                autocomplete="current-password"
                isRequired
                {...form.props('apiKey')}
              />
              <CheckField label={t.remember} hint={t.rememberHint} isChecked={isRemembered} onChange={setRemembered} />
            </>
          )}
        </Form>
      </div>
      {companies && <CompanyList companies={companies} onChoose={(id) => void form.run(() => open(id))} />}
      <p>
        <a href={hrefOf(['verify'])}>{t.verifyInstead}</a>
      </p>
    </div>
  )
}

/** The service does not say which of the two is wrong. */
function refuse(company: string, error: unknown): never {
  if (!(error instanceof EvidenceRegistryError) || ![401, 403].includes(error.status)) throw error
  const t = texts.signIn
  throw new FieldError(company === '' ? { companyId: t.companyMissing } : { apiKey: t.doNotFit })
}

interface CompanyListProps {
  readonly companies: readonly Company[]
  readonly onChoose: (companyId: string) => void
}

/** The companies that the operator can open. */
function CompanyList({ companies, onChoose }: CompanyListProps) {
  const t = texts.signIn
  return (
    <section class="card" aria-label={t.companies}>
      <h2>{t.chooseCompany}</h2>
      {companies.length === 0 && <p>{t.noCompanies}</p>}
      <ul class="rows">
        {companies.map(({ id, createdAt, sourceSystemCount, categoryCount, evidenceCount }) => (
          <li key={id}>
            <button onClick={() => onChoose(id)}>{id}</button>{' '}
            <span class="muted">
              {t.counts(sourceSystemCount, categoryCount, evidenceCount)} · {texts.evidence.created}{' '}
              <Time at={createdAt} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
