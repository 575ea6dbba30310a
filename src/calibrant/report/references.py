"""References by how texts and the register name them."""

REFERENCES = {
    "Arrieta-Ibarra et al. 2022": "Arrieta-Ibarra I, Gujral P, Tannen J, Tygert M, Xu C (2022). Metrics of calibration for probabilistic predictions. Journal of Machine Learning Research 23.",
    "Austin & Steyerberg 2019": "Austin PC, Steyerberg EW (2019). The Integrated Calibration Index (ICI) and related metrics for quantifying the calibration of logistic regression models. Statistics in Medicine 38.",
    "Barnard 1963": "Barnard GA (1963). Discussion of “The spectral analysis of point processes”. Journal of the Royal Statistical Society B 25.",
    "Brier 1950": "Brier GW (1950). Verification of forecasts expressed in terms of probability. Monthly Weather Review 78.",
    "Błasiok & Nakkiran 2024": "Błasiok J, Nakkiran P (2024). Smooth ECE: principled reliability diagrams via kernel smoothing. ICLR.",
    "Cox 1958": "Cox DR (1958). Two further applications of a model for binary regression. Biometrika 45.",
    "Dawid 1984": "Dawid AP (1984). Statistical theory: the prequential approach. Journal of the Royal Statistical Society A 147.",
    "DeLong, DeLong & Clarke-Pearson 1988": "DeLong ER, DeLong DM, Clarke-Pearson DL (1988). Comparing the areas under two or more correlated receiver operating characteristic curves: a nonparametric approach. Biometrics 44.",
    "Gneiting, Balabdaoui, Raftery 2007": "Gneiting T, Balabdaoui F, Raftery AE (2007). Probabilistic forecasts, calibration and sharpness. Journal of the Royal Statistical Society B 69.",
    "Gruber & Buettner 2022": "Gruber S, Buettner F (2022). Better uncertainty calibration via proper scores for classification and beyond. NeurIPS.",
    "Guo et al. 2017": "Guo C, Pleiss G, Sun Y, Weinberger KQ (2017). On calibration of modern neural networks. ICML.",
    "Gupta et al. 2021": "Gupta K, Rahimi A, Ajanthan T, Mensink T, Sminchisescu C, Hartley R (2021). Calibration of neural networks using splines. ICLR.",
    "Kerr et al. 2016": "Kerr KF, Brown MD, Zhu K, Janes H (2016). Assessing the clinical impact of risk prediction models with decision curves. Journal of Clinical Oncology 34.",
    "Kuiper 1960": "Kuiper NH (1960). Tests concerning random points on a circle. Indagationes Mathematicae 63.",
    "Popordanoska, Sayer, Blaschko 2022": "Popordanoska T, Sayer R, Blaschko MB (2022). A consistent and differentiable Lp canonical calibration error estimator. NeurIPS.",
    "Roelofs et al. 2022": "Roelofs R, Cain N, Shlens J, Mozer MC (2022). Mitigating bias in calibration error estimation. AISTATS.",
    "Van Calster et al. 2019": "Van Calster B, McLernon DJ, van Smeden M, Wynants L, Steyerberg EW (2019). Calibration: the Achilles heel of predictive analytics. BMC Medicine 17.",
    "Vickers & Elkin 2006": "Vickers AJ, Elkin EB (2006). Decision curve analysis: a novel method for evaluating prediction models. Medical Decision Making 26.",
    "Westfall & Young 1993": "Westfall PH, Young SS (1993). Resampling-based multiple testing. Wiley.",
    "Wilson 1927": "Wilson EB (1927). Probable inference, the law of succession, and statistical inference. Journal of the American Statistical Association 22.",
}  # fmt: skip
